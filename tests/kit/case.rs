//! A case of the kit, and the text of a file of cases.

use crate::material::hex;
use filterblock::KeyHasher;
use std::fmt::Display;

/// What the caller knows of the hash: nothing, a seed, or a secret key.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Expected {
    #[default]
    Nothing,
    Seed(u64),
    Key([u8; 16]),
}

impl Expected {
    pub fn hasher(self) -> Option<KeyHasher> {
        match self {
            Self::Nothing => None,
            Self::Seed(seed) => Some(KeyHasher::new(seed)),
            Self::Key(key) => Some(KeyHasher::keyed(key)),
        }
    }
}

/// What a reader is given.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub frame: &'static str,
    pub bytes: Vec<u8>,
    pub context: u64,
    pub hash: Expected,
    pub transform: Option<(u8, u16)>,
    /// Of an index: the bytes that its offsets are in.
    pub partitions: Option<Vec<u8>>,
    pub queries: Vec<String>,
}

/// What a reader replies.
#[derive(Clone, Debug)]
pub enum Reply {
    /// The kind, if the frame states one; the number of entries, if it does; the answers; of an index, the class of
    /// each partition.
    Ok { kind: Option<&'static str>, num_entries: Option<u64>, partitions: Option<Vec<&'static str>>, answers: String },
    /// Class and row, and the context under which the frame is intact.
    Refused { class: &'static str, row: &'static str, found_context: Option<u64> },
}

#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    pub request: Request,
    pub reply: Reply,
    /// A reply that is permitted, too.
    pub or: Option<Reply>,
}

impl Case {
    /// Nothing is asked of what is refused.
    pub fn new(name: impl Display, mut request: Request, reply: Reply) -> Self {
        if let Reply::Refused { .. } = reply {
            request.queries.clear();
        }
        Self { name: name.to_string(), request, reply, or: None }
    }

    pub fn text(&self) -> String {
        let mut fields =
            vec![("name", string(&self.name)), ("request", self.request.text()), ("reply", self.reply.text())];
        fields.extend(self.or.as_ref().map(|reply| ("or", reply.text())));
        object(&fields)
    }
}

pub const KINDS: [&str; 6] = ["", "bloom", "blocked", "golomb", "ribbon", "fuse"];

/// The letters of answers.
pub fn letters(answers: impl IntoIterator<Item = bool>) -> String {
    answers.into_iter().map(|maybe| if maybe { 'm' } else { 'n' }).collect()
}

fn string(text: impl Display) -> String {
    format!("\"{text}\"")
}

fn number(value: u64) -> String {
    string(format_args!("{value:#x}"))
}

fn object(fields: &[(&str, String)]) -> String {
    let fields: Vec<_> = fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", fields.join(","))
}

fn list<T: Display>(values: &[T]) -> String {
    format!("[{}]", values.iter().map(string).collect::<Vec<_>>().join(","))
}

impl Request {
    pub fn text(&self) -> String {
        let mut fields = vec![("frame", string(self.frame)), ("bytes", string(hex(&self.bytes)))];
        if self.context != 0 {
            fields.push(("context", number(self.context)));
        }
        match self.hash {
            Expected::Nothing => {}
            Expected::Seed(seed) => fields.push(("seed", number(seed))),
            Expected::Key(key) => fields.push(("key", string(hex(&key)))),
        }
        fields.extend(self.transform.map(|(id, param)| ("transform", format!("[{id},{param}]"))));
        fields.extend(self.partitions.as_ref().map(|bytes| ("partitions", string(hex(bytes)))));
        if !self.queries.is_empty() {
            fields.push(("queries", list(&self.queries)));
        }
        object(&fields)
    }
}

impl Reply {
    pub fn text(&self) -> String {
        match self {
            Self::Ok { kind, num_entries, partitions, answers } => {
                let mut fields = vec![("class", string("ok"))];
                fields.extend(kind.map(|kind| ("kind", string(kind))));
                fields.extend(num_entries.map(|num| ("num_entries", number(num))));
                fields.extend(partitions.as_ref().map(|classes| ("partitions", list(classes))));
                fields.push(("answers", string(answers)));
                object(&fields)
            }
            Self::Refused { class, row, found_context } => {
                let mut fields = vec![("class", string(class)), ("row", string(row))];
                fields.extend(found_context.map(|context| ("found_context", number(context))));
                object(&fields)
            }
        }
    }
}

/// A file of cases: a list with a case in each line.
pub fn file(cases: &[Case]) -> String {
    let lines: Vec<_> = cases.iter().map(Case::text).collect();
    format!("[\n{}\n]\n", lines.join(",\n"))
}
