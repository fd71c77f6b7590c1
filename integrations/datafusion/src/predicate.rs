//! The part of a query's filters that a set can answer.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr as PhysicalBinaryExpr, CaseExpr, Column, DynamicFilterPhysicalExpr, InListExpr, Literal,
};
use filterblock_set::FileMask;
use std::sync::Arc;

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
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
                let of = |column_side, value| column(column_side).zip(literal(value));
                let (column, value) = of(left, right).or_else(|| of(right, left))?;
                lookup(column, &[value]).map(Self::In)
            }
            Expr::InList(list) if !list.negated => {
                let values: Vec<_> = list.list.iter().map(literal).collect::<Option<_>>()?;
                lookup(column(&list.expr)?, &values).map(Self::In)
            }
            _ => None,
        }
    }

    /// The same, of a filter that a plan has made while it ran.
    pub(crate) fn of_late(
        filter: &Arc<dyn PhysicalExpr>,
        lookup: &mut dyn FnMut(&str, &[&ScalarValue]) -> Option<L>,
    ) -> Option<Self> {
        if let Some(filter) = filter.downcast_ref::<DynamicFilterPhysicalExpr>() {
            return Self::of_late(&filter.current().ok()?, lookup);
        }
        // One for each partition of a join: the filter is true if that of the row's partition is.
        if let Some(case) = filter.downcast_ref::<CaseExpr>() {
            let branches = case.when_then_expr().iter().map(|(_, then)| then).chain(case.else_expr());
            let is_false = |filter: &&Arc<_>| late_literal(filter) == Some(&ScalarValue::Boolean(Some(false)));
            let branches = branches.filter(|filter| !is_false(filter)).map(|filter| Self::of_late(filter, lookup));
            return branches.collect::<Option<_>>().filter(|branches: &Vec<_>| !branches.is_empty()).map(Self::Any);
        }
        if let Some(list) = filter.downcast_ref::<InListExpr>().filter(|list| !list.negated()) {
            let values: Vec<_> = list.list().iter().map(late_literal).collect::<Option<_>>()?;
            return lookup(late_column(list.expr())?, &values).map(Self::In);
        }
        let binary = filter.downcast_ref::<PhysicalBinaryExpr>()?;
        let sides = [binary.left(), binary.right()];
        match binary.op() {
            Operator::And => {
                let parts: Vec<_> = sides.into_iter().filter_map(|side| Self::of_late(side, lookup)).collect();
                (!parts.is_empty()).then_some(Self::All(parts))
            }
            Operator::Or => {
                sides.into_iter().map(|side| Self::of_late(side, lookup)).collect::<Option<_>>().map(Self::Any)
            }
            Operator::Eq => {
                let of = |column, value| late_column(column).zip(late_literal(value));
                let (column, value) = of(sides[0], sides[1]).or_else(|| of(sides[1], sides[0]))?;
                lookup(column, &[value]).map(Self::In)
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

fn late_column(expr: &Arc<dyn PhysicalExpr>) -> Option<&str> {
    expr.downcast_ref::<Column>().map(Column::name)
}

fn late_literal(expr: &Arc<dyn PhysicalExpr>) -> Option<&ScalarValue> {
    expr.downcast_ref::<Literal>().map(Literal::value)
}

fn literal(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(value, _) => Some(value),
        _ => None,
    }
}
