//! The built-in data: a synthetic web table as in the BigTable paper (Chang et al., OSDI 2006, §2).
//!
//! Rows are pages under their reversed host names (`com.silverfield.www/news/…`), so that pages of a host are
//! neighbours. Columns are `contents:`, `language:` and one `anchor:` for each host that links to the page. Half of the
//! pages of every host were never crawled: these are the absent rows, and they lie between the present ones.

use super::data::{Column, DataRow, random};

const FIRST: [&str; 24] = [
    "silver", "north", "river", "maple", "stone", "harbor", "summer", "cedar", "amber", "winter", "copper", "meadow",
    "falcon", "lantern", "prairie", "granite", "willow", "ember", "cobalt", "juniper", "marble", "orchard", "raven",
    "sable",
];
const SECOND: [&str; 20] = [
    "field", "wood", "bank", "press", "works", "market", "lab", "times", "post", "data", "cloud", "books", "maps",
    "house", "travel", "sports", "music", "garden", "school", "news",
];
const ZONES: [&str; 8] = ["com", "org", "net", "edu", "de", "uk.co", "fr", "jp.ne"];
const HOSTS: [&str; 4] = ["www", "news", "blog", "docs"];
const SECTIONS: [&str; 8] = ["news", "archive", "product", "about", "2024", "2025", "wiki", "article"];
const LANGUAGES: [&str; 6] = ["EN", "DE", "FR", "ES", "JA", "PT"];
/// Pages of a host, crawled or not.
const PAGES_PER_HOST: u64 = 40;

fn pick<'a>(words: &[&'a str], random: u64) -> &'a str {
    words[(random % words.len() as u64) as usize]
}

fn host(i: u64) -> String {
    let r = random(b"host", i);
    let (zone, first, second) = (pick(&ZONES, r), pick(&FIRST, r >> 8), pick(&SECOND, r >> 16));
    format!("{zone}.{first}{second}{}.{}", (r >> 24) % 10, pick(&HOSTS, r >> 32))
}

fn page(i: u64) -> Vec<u8> {
    let (host, r) = (host(i / PAGES_PER_HOST), random(b"page", i));
    let (section, first, second) = (pick(&SECTIONS, r), pick(&FIRST, r >> 8), pick(&SECOND, r >> 16));
    format!("{host}/{section}/{first}-{second}-{:x}.html", r >> 36).into_bytes()
}

/// The columns of a page, and one that it does not have.
fn columns(i: u64, num_hosts: u64) -> (Vec<Column>, Vec<u8>) {
    let r = random(b"columns", i);
    let anchor = |n: u64| format!("anchor:{}", host(random(b"anchor", i * 8 + n) % num_hosts)).into_bytes();
    let words: Vec<&str> = (0..6 + r % 12).map(|n| pick(&FIRST, random(b"text", i * 32 + n))).collect();
    let mut columns = vec![
        (b"contents:".to_vec(), format!("<html><title>{}</title>", words.join(" ")).into_bytes()),
        (b"language:".to_vec(), pick(&LANGUAGES, r >> 8).as_bytes().to_vec()),
    ];
    let num_anchors = (r >> 16) % 5;
    columns.extend((0..num_anchors).map(|n| (anchor(n), words[n as usize].as_bytes().to_vec())));
    columns.sort();
    columns.dedup_by(|a, b| a.0 == b.0);
    // One more host that does not link here.
    let mut absent = (num_anchors..).map(anchor);
    let absent = absent.find(|absent| columns.iter().all(|(column, _)| column != absent)).unwrap_or_default();
    (columns, absent)
}

/// `num_rows` rows of a web table, the absent ones between them, and hosts without a row, each with its slash.
pub(super) fn generate(num_rows: u64) -> (Vec<DataRow>, Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let num_hosts = (2 * num_rows).div_ceil(PAGES_PER_HOST).max(64);
    let (mut rows, mut absent_rows) = (Vec::new(), Vec::new());
    for i in 0.. {
        if rows.len() as u64 >= num_rows {
            break;
        }
        if random(b"crawled", i) % 2 == 0 {
            absent_rows.push(page(i));
        } else {
            let (columns, absent_column) = columns(i, num_hosts);
            rows.push(DataRow { row: page(i), columns, absent_column });
        }
    }
    let other_hosts = (num_hosts..3 * num_hosts).map(|i| format!("{}/", host(i)).into_bytes()).collect();
    (rows, absent_rows, other_hosts)
}
