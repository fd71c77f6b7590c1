//! The part of a query's filters that a set can answer.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use filterblock_set::FileMask;

/// `AND` and `OR` over lookups: true wherever the filter that it was made of is true.
#[derive(Debug)]
pub(crate) enum Predicate<L> {
    All(Vec<Self>),
    Any(Vec<Self>),
    /// The column has one of some values.
    In(L),
}

impl<L> Predicate<L> {
    /// Returns the part of `filter` that can be looked up. `lookup` is called with a column and the values of which it
    /// has to have one. `None`, of it and of this function: unknown, so *maybe*.
    pub(crate) fn of(filter: &Expr, lookup: &mut dyn FnMut(&str, &[&ScalarValue]) -> Option<L>) -> Option<Self> {
        match filter {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
                let mut parts: Vec<_> = [left, right].into_iter().filter_map(|side| Self::of(side, lookup)).collect();
                if parts.len() < 2 { parts.pop() } else { Some(Self::All(parts)) }
            }
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
                Some(Self::Any(vec![Self::of(left, lookup)?, Self::of(right, lookup)?]))
            }
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => match (column(left), column(right)) {
                (Some(column), None) => lookup(column, &[literal(right)?]).map(Self::In),
                (None, Some(column)) => lookup(column, &[literal(left)?]).map(Self::In),
                _ => None,
            },
            Expr::InList(list) if !list.negated => {
                let values: Vec<_> = list.list.iter().map(literal).collect::<Option<_>>()?;
                lookup(column(&list.expr)?, &values).map(Self::In)
            }
            _ => None,
        }
    }

    /// Returns the lookups.
    pub(crate) fn lookups(&self) -> Vec<&L> {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().flat_map(Self::lookups).collect(),
            Self::In(lookup) => vec![lookup],
        }
    }

    /// Returns which files may have a row for which this is true. `answers` has the answer of each lookup, in order.
    pub(crate) fn answer(&self, answers: &mut dyn Iterator<Item = FileMask>) -> Option<FileMask> {
        let (parts, join): (_, fn(&mut FileMask, &FileMask)) = match self {
            Self::All(parts) => (parts, FileMask::and),
            Self::Any(parts) => (parts, FileMask::or),
            Self::In(_) => return answers.next(),
        };
        // All are taken, so that the next part finds its own.
        let each: Vec<_> = parts.iter().map(|part| part.answer(answers)).collect::<Option<_>>()?;
        each.into_iter().reduce(|mut files, other| {
            join(&mut files, &other);
            files
        })
    }
}

fn column(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Column(column) => Some(&column.name),
        _ => None,
    }
}

fn literal(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(value, _) => Some(value),
        _ => None,
    }
}
