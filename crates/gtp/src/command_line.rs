//! Splitting the text after `gtp:` into a program and its arguments.

use std::fmt;

/// A program and its arguments.
///
/// The text is split like in a shell: whitespace separates words, `'…'` keeps everything, `"…"` keeps everything except
/// the escapes `\"` and `\\`, and a backslash outside quotes keeps the next character. Nothing is expanded: no
/// variables, wildcards or pipes.
///
/// ```
/// let command: tengen_gtp::CommandLine = "gnugo --mode gtp --name 'GNU Go'".parse().unwrap();
/// assert_eq!(command.program, "gnugo");
/// assert_eq!(command.args, ["--mode", "gtp", "--name", "GNU Go"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CommandLine {
    /// The program: a path, or a name to look up on `PATH`.
    pub program: String,
    /// The arguments of the program.
    pub args: Vec<String>,
}

/// The reason why a command line cannot be split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandLineError {
    /// The text has no program.
    #[error("the command line of the engine is empty")]
    Empty,
    /// A quote is never closed.
    #[error("the command line of the engine has an unclosed {0} quote")]
    OpenQuote(char),
    /// The text ends with a single backslash.
    #[error("the command line of the engine ends with a lone backslash")]
    LoneBackslash,
}

impl std::str::FromStr for CommandLine {
    type Err = CommandLineError;

    fn from_str(text: &str) -> Result<CommandLine, CommandLineError> {
        let mut words = split_words(text)?.into_iter();
        let program = words
            .next()
            .filter(|program| !program.is_empty())
            .ok_or(CommandLineError::Empty)?;
        Ok(CommandLine {
            program,
            args: words.collect(),
        })
    }
}

/// Formats the command line so that parsing it again gives the same words.
impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&quoted(&self.program))?;
        self.args.iter().try_for_each(|arg| write!(f, " {}", quoted(arg)))
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| !c.is_whitespace() && !matches!(c, '\'' | '"' | '\\');
    match word {
        "" => "''".to_owned(),
        _ if word.chars().all(plain) => word.to_owned(),
        _ if !word.contains('\'') => format!("'{word}'"),
        _ => format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

fn split_words(text: &str) -> Result<Vec<String>, CommandLineError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' | '"' => read_quoted(&mut chars, c, word.get_or_insert_default())?,
            '\\' => word
                .get_or_insert_default()
                .push(chars.next().ok_or(CommandLineError::LoneBackslash)?),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

fn read_quoted(chars: &mut std::str::Chars<'_>, quote: char, word: &mut String) -> Result<(), CommandLineError> {
    while let Some(c) = chars.next() {
        match c {
            c if c == quote => return Ok(()),
            '\\' if quote == '"' => match chars.next().ok_or(CommandLineError::OpenQuote(quote))? {
                c @ ('"' | '\\') => word.push(c),
                c => word.extend(['\\', c]),
            },
            c => word.push(c),
        }
    }
    Err(CommandLineError::OpenQuote(quote))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, words: &[&str]) {
        let command: CommandLine = text.parse().expect("a command line");
        assert_eq!(command.program, words[0], "{text}");
        assert_eq!(command.args, words[1..], "{text}");
    }

    #[test]
    fn splits_like_a_shell() {
        check("gnugo --mode gtp", &["gnugo", "--mode", "gtp"]);
        check("  gnugo\t--level  10 ", &["gnugo", "--level", "10"]);
        check("'my engine' \"a b\" c'd e'f", &["my engine", "a b", "cd ef"]);
        check(
            r#"e "say \"hi\" \n" 'a\b' a\ b"#,
            &["e", r#"say "hi" \n"#, r"a\b", "a b"],
        );
        check("e '' \"\"", &["e", "", ""]);
    }

    #[test]
    fn invalid_command_lines_are_rejected() {
        let error = |text: &str| text.parse::<CommandLine>().expect_err("an error");
        assert_eq!(error(""), CommandLineError::Empty);
        assert_eq!(error("  "), CommandLineError::Empty);
        assert_eq!(error("''"), CommandLineError::Empty);
        assert_eq!(error("e 'abc"), CommandLineError::OpenQuote('\''));
        assert_eq!(error("e \"abc\\"), CommandLineError::OpenQuote('"'));
        assert_eq!(error("e abc\\"), CommandLineError::LoneBackslash);
    }

    proptest! {
        #[test]
        fn display_round_trips(program in "[ -~]{1,12}", args in prop::collection::vec("\\PC{0,12}", 0..4)) {
            let command = CommandLine { program, args };
            prop_assert_eq!(command.to_string().parse::<CommandLine>(), Ok(command));
        }

        #[test]
        fn any_text_parses_without_panic(text in "\\PC{0,40}") {
            let _ = text.parse::<CommandLine>();
        }
    }
}
