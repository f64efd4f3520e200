//! Where the parts of a `.proto` file stand, and what is said about them.

use std::collections::HashMap;

use protox::prost_reflect::FileDescriptor;

use super::shape::Spot;

/// The number of `package` in a file's descriptor.
pub(super) const PACKAGE: i32 = 2;
/// The number of `syntax` in a file's descriptor.
pub(super) const SYNTAX: i32 = 12;

/// Places and comments by the path of a part in the file's descriptor.
pub(super) struct Places {
    /// The file's name.
    pub file: String,
    spots: HashMap<Vec<i32>, Spot>,
    leading: HashMap<Vec<i32>, String>,
    trailing: HashMap<Vec<i32>, String>,
}

impl Places {
    pub(super) fn of(file: &FileDescriptor) -> Self {
        let (mut spots, mut leading, mut trailing) = (HashMap::new(), HashMap::new(), HashMap::new());
        let info = file.file_descriptor_proto().source_code_info.as_ref();
        for location in info.into_iter().flat_map(|info| &info.location) {
            let number = |from_0: i32| u32::try_from(from_0).unwrap_or(0) + 1;
            if let [line, column, ..] = location.span[..] {
                let spot = Spot { line: number(line), column: number(column) };
                // Of several parts of one path, as `reserved` may have, the first is where to look.
                spots.entry(location.path.clone()).or_insert(spot);
            }
            leading.extend(location.leading_comments.as_deref().map(|text| (location.path.clone(), said(text))));
            trailing.extend(location.trailing_comments.as_deref().map(|text| (location.path.clone(), said(text))));
        }
        Self { file: file.name().to_owned(), spots, leading, trailing }
    }

    /// Where a part stands; its parent's place where it has none of its own.
    pub(super) fn at(&self, path: &[i32]) -> Option<Spot> {
        (0..=path.len()).rev().find_map(|length| self.spots.get(&path[..length]).copied())
    }

    /// The comment before a part.
    pub(super) fn leading(&self, path: &[i32]) -> Option<String> {
        self.leading.get(path).cloned()
    }

    /// The comment after a part, on its line.
    pub(super) fn trailing(&self, path: &[i32]) -> Option<String> {
        self.trailing.get(path).cloned()
    }
}

/// A comment on one line.
fn said(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
