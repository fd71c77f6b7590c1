//! The errors of policies' texts.

use super::BuildError;
use core::fmt;
use std::string::String;

/// The reason why a text is not a policy or not a transform.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ParsePolicyError {
    /// A part of the text is not in the grammar.
    Syntax {
        /// The part.
        found: String,
        /// The parts that are possible in its place.
        expected: &'static str,
    },
    /// A setting is named twice.
    Repeated {
        /// Its name.
        name: &'static str,
    },
    /// A value is outside its legal range.
    Value(BuildError),
}

impl fmt::Display for ParsePolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { found, expected } => write!(f, "'{found}' is not {expected}"),
            Self::Repeated { name } => write!(f, "{name}=… is given twice"),
            Self::Value(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ParsePolicyError {}

impl From<BuildError> for ParsePolicyError {
    fn from(error: BuildError) -> Self {
        Self::Value(error)
    }
}
