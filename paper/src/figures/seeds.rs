//! How many seeds a figure may have.

use serde::{Serialize, Serializer};
use std::fmt::{self, Display};
use std::str::FromStr;

/// At most so many seeds: `10`, or `10,3` where networks with two hidden layers, which take several times as long, may have fewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seeds {
    /// Of whatever is averaged over seeds.
    pub most: usize,
    /// Of networks with two hidden layers, where they may have another number.
    pub deep: Option<usize>,
}

impl Seeds {
    /// The same number for everything.
    pub fn of(most: usize) -> Seeds {
        Seeds { most, deep: None }
    }

    /// "at most 3 seeds", "at most 10 seeds (3 with two hidden layers)".
    pub fn words(&self) -> String {
        let s = if self.most == 1 { "" } else { "s" };
        let deep = self.deep.map_or(String::new(), |deep| format!(" ({deep} with two hidden layers)"));
        format!("at most {} seed{s}{deep}", self.most)
    }
}

/// As it is said: `10`, `10,3`.
impl Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.most)?;
        self.deep.map_or(Ok(()), |deep| write!(f, ",{deep}"))
    }
}

impl FromStr for Seeds {
    /// What would be right.
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Seeds, Self::Err> {
        const RIGHT: &str = "must be a number of seeds from 1 on, or two of them, the second no larger: 10,3";
        let numbers: Vec<u32> = text.split(',').map(str::parse).collect::<Result<_, _>>().map_err(|_| RIGHT)?;
        match numbers[..] {
            [most] if most > 0 => Ok(Seeds::of(most as usize)),
            [most, deep] if (1..=most).contains(&deep) => Ok(Seeds { most: most as usize, deep: Some(deep as usize) }),
            _ => Err(RIGHT),
        }
    }
}

/// A number, or the two of them.
impl Serialize for Seeds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.deep {
            None => self.most.serialize(serializer),
            Some(deep) => [self.most, deep].serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_or_two_are_read_and_said() {
        let read = |text: &str| text.parse::<Seeds>();
        assert_eq!(read("3").unwrap(), Seeds::of(3));
        assert_eq!(read("10,3").unwrap(), Seeds { most: 10, deep: Some(3) });
        for text in ["3", "10,3"] {
            assert_eq!(read(text).unwrap().to_string(), text);
        }
        assert_eq!(Seeds::of(1).words(), "at most 1 seed");
        assert_eq!(read("10,3").unwrap().words(), "at most 10 seeds (3 with two hidden layers)");
        assert_eq!(serde_json::to_string(&[read("3").unwrap(), read("10,3").unwrap()]).unwrap(), "[3,[10,3]]");
        for text in ["", "0", "10,0", "3,10", "1,2,3", "-1", "ten", "99999999999999999999"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
