//! Reading the fields of a JSON object, with a clear message for each invalid one.

use serde_json::{Map, Value};

/// The reason why a line is rejected or part of it is ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// The field concerned; `None` if it is the line as a whole.
    pub(super) field: Option<String>,
    /// A message for the user of the client.
    pub(super) message: String,
}

impl Problem {
    /// A problem with a field.
    pub(super) fn about(field: &str, message: impl Into<String>) -> Problem {
        Problem {
            field: Some(field.to_owned()),
            message: message.into(),
        }
    }

    fn expected(field: &str, expected: &str, found: &Value) -> Problem {
        Problem::about(field, format!("expected {expected}, found {}", shown(found)))
    }
}

/// A value as JSON, cut to a length suitable for a message.
pub(super) fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// The fields of an object. A field that is `null` counts as missing.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(pub(super) &'a Map<String, Value>);

impl<'a> Fields<'a> {
    pub(super) fn get(self, field: &str) -> Option<&'a Value> {
        self.0.get(field).filter(|value| !value.is_null())
    }

    pub(super) fn required(self, field: &str, expected: &str) -> Result<&'a Value, Problem> {
        let missing = || Problem::about(field, format!("'{field}' is missing: expected {expected}"));
        self.get(field).ok_or_else(missing)
    }

    /// A value converted by `read`, which returns `None` if the value is invalid.
    fn read<T>(
        self,
        field: &str,
        expected: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, Problem> {
        let Some(value) = self.get(field) else { return Ok(None) };
        let value = read(value).ok_or_else(|| Problem::expected(field, expected, value))?;
        Ok(Some(value))
    }

    pub(super) fn text(self, field: &str) -> Result<Option<&'a str>, Problem> {
        self.read(field, "a string", Value::as_str)
    }

    pub(super) fn flag(self, field: &str) -> Result<bool, Problem> {
        Ok(self.read(field, "true or false", Value::as_bool)?.unwrap_or(false))
    }

    pub(super) fn list(self, field: &str) -> Result<&'a [Value], Problem> {
        let list = self.read(field, "a list", Value::as_array)?;
        Ok(list.map_or(&[], Vec::as_slice))
    }

    pub(super) fn object(self, field: &str) -> Result<Option<&'a Map<String, Value>>, Problem> {
        self.read(field, "an object", Value::as_object)
    }

    /// A whole number, which may be written as `5.0`.
    pub(super) fn whole(self, field: &str, least: i64, most: i64) -> Result<Option<i64>, Problem> {
        let expected = format!("a whole number from {least} to {most}");
        self.read(field, &expected, |value| whole(value, least, most))
    }

    pub(super) fn number(self, field: &str, least: f64, most: f64) -> Result<Option<f64>, Problem> {
        let expected = format!("a number from {least} to {most}");
        self.read(field, &expected, |value| {
            value.as_f64().filter(|number| (least..=most).contains(number))
        })
    }

    /// A list of whole numbers.
    pub(super) fn whole_list(self, field: &str, least: i64, most: i64) -> Result<Option<Vec<i64>>, Problem> {
        let expected = format!("a list of whole numbers from {least} to {most}");
        self.read(field, &expected, |value| {
            let numbers = value.as_array()?.iter();
            numbers.map(|number| whole(number, least, most)).collect()
        })
    }
}

fn whole(value: &Value, least: i64, most: i64) -> Option<i64> {
    let exact = |number: &f64| number.fract() == 0.0 && number.abs() < 1e15;
    let number = value
        .as_i64()
        .or_else(|| value.as_f64().filter(exact).map(|number| number as i64));
    number.filter(|number| (least..=most).contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_show_invalid_and_expected_values() {
        let value: Value = serde_json::from_str(
            r#"{"n": 3, "half": 0.5, "none": null, "list": [1, 2.0, -3],
                "long": "012345678901234567890123456789012345678901234567890123456789"}"#,
        )
        .expect("JSON");
        let fields = Fields(value.as_object().expect("an object"));
        assert_eq!(fields.whole("n", 0, 3), Ok(Some(3)));
        assert_eq!(fields.text("none"), Ok(None));
        assert_eq!(fields.whole_list("list", -3, 3), Ok(Some(vec![1, 2, -3])));
        let message = |problem: Problem| format!("{}: {}", problem.field.unwrap_or_default(), problem.message);
        let check = |found: Option<Problem>, expected: &str| {
            assert_eq!(found.map(message).as_deref(), Some(expected));
        };
        check(
            fields.whole("n", 5, 9).err(),
            "n: expected a whole number from 5 to 9, found 3",
        );
        check(
            fields.whole("half", 0, 1).err(),
            "half: expected a whole number from 0 to 1, found 0.5",
        );
        check(fields.flag("n").err(), "n: expected true or false, found 3");
        check(
            fields.number("long", 0.0, 1.0).err(),
            "long: expected a number from 0 to 1, \
             found \"01234567890123456789012345678901234567890123456789012345678...",
        );
        check(
            fields.required("none", "a name").err(),
            "none: 'none' is missing: expected a name",
        );
        check(
            fields.whole_list("list", 0, 3).err(),
            "list: expected a list of whole numbers from 0 to 3, found [1,2.0,-3]",
        );
    }
}
