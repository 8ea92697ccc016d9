//! Parsing one line of input into a command (GTP 2, sections 2.5, 2.6 and 3.1).

/// One command: its optional ID, name and arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The digits before the command exactly as received, to be repeated in the reply.
    pub id: Option<String>,
    /// The name of the command; empty if the line contains only a number.
    pub name: String,
    /// The arguments, split at whitespace.
    pub args: Vec<String>,
}

impl Request {
    /// Parses one line; `None` if nothing is left of it after cleaning, which requires no reply.
    pub fn parse(line: &str) -> Option<Request> {
        let clean = clean_line(line);
        let mut words = clean.split_ascii_whitespace().peekable();
        let id = words.next_if(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
        if id.is_none() && words.peek().is_none() {
            return None;
        }
        Some(Request {
            id: id.map(str::to_owned),
            name: words.next().unwrap_or_default().to_owned(),
            args: words.map(str::to_owned).collect(),
        })
    }

    /// The arguments joined by single spaces.
    pub fn rest(&self) -> String {
        self.args.join(" ")
    }
}

/// Cleans a line as required by GTP 2, section 3.1: tabs become spaces, other control characters (including carriage
/// returns) are removed, and everything from `#` on is a comment.
pub fn clean_line(line: &str) -> String {
    let code = line.split('#').next().unwrap_or_default();
    code.chars()
        .filter_map(|c| match c {
            '\t' => Some(' '),
            c if c.is_control() => None,
            c => Some(c),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, id: Option<&str>, name: &str, args: &[&str]) {
        let request = Request::parse(line).expect("a command");
        assert_eq!(request.id.as_deref(), id, "{line:?}");
        assert_eq!(request.name, name, "{line:?}");
        assert_eq!(request.args, args, "{line:?}");
    }

    #[test]
    fn lines_are_parsed_into_commands() {
        check("play b c3", None, "play", &["b", "c3"]);
        check("17 play b c3\r\n", Some("17"), "play", &["b", "c3"]);
        check("  \tname \t\t x", None, "name", &["x"]);
        check("007 name # what is it?", Some("007"), "name", &[]);
        check("na\x07me\x00", None, "name", &[]);
        check(
            "99999999999999999999999999 name",
            Some("99999999999999999999999999"),
            "name",
            &[],
        );
        check("2name", None, "2name", &[]);
        check("5", Some("5"), "", &[]);
    }

    #[test]
    fn empty_lines_are_not_commands() {
        for line in ["", "\n", " \t \r\n", "# only a comment", "\x01\x02", "   # 5 name"] {
            assert_eq!(Request::parse(line), None, "{line:?}");
        }
    }
}
