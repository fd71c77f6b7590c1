//! Places for names: near their marks, without covering marks or other names, and few lines.

/// A place on the picture in pixels, from its upper left corner.
pub type Place = (i32, i32);

/// Distances between a mark's middle and its name, nearest first.
const DISTANCES: [i32; 9] = [10, 16, 24, 34, 46, 60, 76, 94, 114];
/// From the nearest distance on whose names have a line to their mark.
const FIRST_WITH_LINE: i32 = 24;
/// What covering a pixel of a mark, of a name or of what is outside costs, in distances of a pixel. That of a line
/// costs one.
const COVER_COST: i64 = 20;
/// Width of lines, and of the squares into which they are cut.
const LINE: i32 = 3;
/// Names are moved at most this often; then none has found a better place in practice.
const MAX_PASSES: usize = 12;

/// A rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    pub left: i32,
    pub top: i32,
    pub right: i32,
    pub bottom: i32,
}

impl Area {
    pub fn around((x, y): Place, half: i32) -> Self {
        Self { left: x - half, top: y - half, right: x + half, bottom: y + half }
    }

    /// Squares along a line.
    pub fn along([from, to]: [Place; 2]) -> impl Iterator<Item = Self> {
        let (x, y) = (to.0 - from.0, to.1 - from.1);
        let num_squares = x.abs().max(y.abs()) / LINE;
        (0..=num_squares).map(move |i| {
            let share = |length: i32| length * i / num_squares.max(1);
            Self::around((from.0 + share(x), from.1 + share(y)), LINE / 2)
        })
    }

    /// Pixels in both.
    fn overlap(self, other: Self) -> i64 {
        let width = self.right.min(other.right) - self.left.max(other.left);
        let height = self.bottom.min(other.bottom) - self.top.max(other.top);
        i64::from(width.max(0)) * i64::from(height.max(0))
    }

    fn size(self) -> i64 {
        i64::from(self.right - self.left) * i64::from(self.bottom - self.top)
    }

    /// The point of the area that is next to `place`.
    fn nearest((x, y): Place, area: Self) -> Place {
        (x.clamp(area.left, area.right), y.clamp(area.top, area.bottom))
    }
}

/// A name to be placed.
pub struct Label {
    pub mark: Place,
    pub width: i32,
    pub height: i32,
}

impl Label {
    /// Right of the mark, left of it, above, below, and between these, at each distance.
    fn candidates(&self) -> impl Iterator<Item = (i32, Area)> {
        let ((x, y), width, height) = (self.mark, self.width, self.height);
        DISTANCES.into_iter().flat_map(move |distance| {
            let slant = distance * 7 / 10;
            [
                (x + distance, y - height / 2),
                (x - distance - width, y - height / 2),
                (x - width / 2, y - distance - height),
                (x - width / 2, y + distance),
                (x - width / 6, y - distance - height),
                (x - width / 6, y + distance),
                (x - width * 5 / 6, y - distance - height),
                (x - width * 5 / 6, y + distance),
                (x + slant, y - slant - height),
                (x + slant, y + slant),
                (x - slant - width, y - slant - height),
                (x - slant - width, y + slant),
            ]
            .map(|(left, top)| (distance, Area { left, top, right: left + width, bottom: top + height }))
        })
    }
}

/// Places for all `labels` in `plane`, which cover as little as possible of `obstacles`, of each other, and then of
/// `lines`. Each is moved to its best place, given those of the others, until none moves.
pub fn place(labels: &[Label], obstacles: &[Area], lines: &[[Place; 2]], plane: Area) -> Vec<Area> {
    let lines: Vec<Area> = lines.iter().flat_map(|&line| Area::along(line)).collect();
    let mut places: Vec<Option<Area>> = vec![None; labels.len()];
    for _ in 0..MAX_PASSES {
        let mut moved = false;
        for (i, label) in labels.iter().enumerate() {
            let others = || places.iter().enumerate().filter(|&(j, _)| j != i).filter_map(|(_, place)| *place);
            let cost = |&(distance, area): &(i32, Area)| {
                let outside = area.size() - area.overlap(plane);
                let covered: i64 = others().chain(obstacles.iter().copied()).map(|other| area.overlap(other)).sum();
                let crossed: i64 = lines.iter().map(|square| area.overlap(*square)).sum();
                i64::from(distance) + crossed + COVER_COST * (covered + outside)
            };
            let best = label.candidates().min_by_key(cost).map(|(_, area)| area);
            moved |= best != places[i];
            places[i] = best;
        }
        if !moved {
            break;
        }
    }
    places.into_iter().flatten().collect()
}

/// The line from a mark to its name, if this is too far away to need none.
pub fn line_to(mark: Place, area: Area) -> Option<[Place; 2]> {
    let end = Area::nearest(mark, area);
    let far = (end.0 - mark.0).abs().max((end.1 - mark.1).abs()) >= FIRST_WITH_LINE * 7 / 10;
    far.then_some([mark, end])
}

#[cfg(test)]
mod tests {
    use super::{Area, Label, Place, line_to, place};

    const PLANE: Area = Area { left: 0, top: 0, right: 800, bottom: 500 };

    fn label(mark: Place) -> Label {
        Label { mark, width: 150, height: 15 }
    }

    #[test]
    fn a_name_alone_is_right_of_its_mark_and_stays_in_the_plane() {
        let areas = place(&[label((100, 100))], &[Area::around((100, 100), 5)], &[], PLANE);
        assert_eq!(areas, [Area { left: 110, top: 93, right: 260, bottom: 108 }]);
        assert_eq!(line_to((100, 100), areas[0]), None);
        let at_the_end = place(&[label((795, 100))], &[Area::around((795, 100), 5)], &[], PLANE);
        assert_eq!(at_the_end[0].right, 785);
    }

    #[test]
    fn a_name_makes_room_for_lines_but_not_at_the_cost_of_marks() {
        let line = [(100, 100), (400, 100)];
        let free = place(&[label((100, 100))], &[], &[line], PLANE)[0];
        assert!(Area::along(line).all(|square| free.overlap(square) == 0), "{free:?}");
        let all_but_the_line = [(0, 0, 800, 92), (0, 109, 800, 500), (0, 92, 100, 109)];
        let marks = all_but_the_line.map(|(left, top, right, bottom)| Area { left, top, right, bottom });
        let on_the_line = place(&[label((100, 100))], &marks, &[line], PLANE)[0];
        assert!(marks.iter().all(|mark| on_the_line.overlap(*mark) == 0), "{on_the_line:?}");
    }

    /// As crowded as a run of all filters, where several are alike.
    #[test]
    fn names_in_a_crowd_cover_nothing() {
        let marks: Vec<Place> = (0..20).map(|i| (500 + i % 5 * 40, 150 + i / 5 * 50 + i % 5 * 4)).collect();
        let obstacles: Vec<_> = marks.iter().map(|&mark| Area::around(mark, 6)).collect();
        let labels: Vec<_> = marks.iter().map(|&mark| label(mark)).collect();
        let areas = place(&labels, &obstacles, &[], PLANE);
        assert_eq!(areas.len(), marks.len());
        for (i, area) in areas.iter().enumerate() {
            assert_eq!(area.overlap(PLANE), area.size(), "{i} is cut");
            assert!(obstacles.iter().all(|mark| area.overlap(*mark) == 0), "{i} covers a mark");
            assert!(areas[..i].iter().all(|other| area.overlap(*other) == 0), "{i} covers a name");
        }
        assert!(areas.iter().zip(&marks).any(|(area, &mark)| line_to(mark, *area).is_some()));
    }
}
