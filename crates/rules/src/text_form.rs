//! Serde, with the feature `serde`: sizes (`9x7`), komi (`7.5`), and rules (`tromp_taylor`) are the text that they
//! display. Sizes and komi may also be bare numbers, as in `size = 9`.

use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::komi::Komi;
use crate::rules::Rules;
use crate::size::Size;

/// Writes types as their text and reads them with the given function.
macro_rules! as_text {
    ($($of:ty: $read:ident),*) => {$(
        impl Serialize for $of {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $of {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$of, D::Error> {
                $read(deserializer)
            }
        }
    )*};
}

as_text!(Size: text_or_number, Komi: text_or_number, Rules: text);

fn text<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(Error::custom)
}

fn text_or_number<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(TextOrNumber(PhantomData))
}

struct TextOrNumber<T>(PhantomData<T>);

impl<T: FromStr<Err: Display>> Visitor<'_> for TextOrNumber<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text or a number")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}

#[cfg(test)]
mod tests {
    use serde::de::IntoDeserializer;
    use serde::de::value::Error;

    use super::*;
    use crate::color::Color;

    fn read<'de, T: Deserialize<'de>>(value: impl IntoDeserializer<'de, Error>) -> Option<T> {
        T::deserialize(value.into_deserializer()).ok()
    }

    /// What a value is in a file.
    fn written(value: impl Serialize) -> String {
        struct Written<T>(T);
        impl<T: Serialize> Display for Written<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.serialize(f)
            }
        }
        Written(value).to_string()
    }

    #[test]
    fn values_are_written_as_their_text_and_read_back() {
        let size = Size::new(9, 7).unwrap();
        assert_eq!((written(size), read("9x7")), ("9x7".to_owned(), Some(size)));
        let komi = Komi::from_half_points(-7);
        assert_eq!((written(komi), read("-3.5")), ("-3.5".to_owned(), Some(komi)));
        let (rules, name) = (Rules::japanese2008(), "japanese2008");
        assert_eq!((written(rules), read(name)), (name.to_owned(), Some(rules)));
        for (color, name) in [(Color::Black, "black"), (Color::White, "white")] {
            assert_eq!((written(color), read(name)), (name.to_owned(), Some(color)));
        }
    }

    #[test]
    fn sizes_and_komi_may_be_numbers() {
        assert_eq!(read(9_u64), Some(Size::square(9).unwrap()));
        assert_eq!(read(-7_i64), Some(Komi::from_half_points(-14)));
        assert_eq!(read(7.5), Some(Komi::from_half_points(15)));
    }

    #[test]
    fn other_values_are_refused() {
        assert_eq!(read::<Size>("9x20"), None);
        assert_eq!(read::<Size>(-9_i64), None);
        assert_eq!(read::<Komi>(7.25), None);
        assert_eq!(read::<Komi>(true), None);
        assert_eq!(read::<Rules>("chess"), None);
        assert_eq!(read::<Rules>(3_u64), None);
        assert_eq!(read::<Color>("Black"), None);
    }
}
