//! The manifest with a new epoch, or with a newer version of one.

/// What of the manifest can't be changed by whoever isn't its author.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// The release is no number.
    #[error("the manifest's release is `{0}`, which has no next one; give it a whole number")]
    Release(String),
    /// An entry isn't written over lines of its own.
    #[error("can't find the entry of `{0}` in the manifest: it should begin with `  - id: {0}`, a line for each key")]
    Entry(String),
}

/// The release after this one.
pub(super) fn next_release(release: &str) -> Result<String, ManifestError> {
    let number: u64 = release.parse().map_err(|_| ManifestError::Release(release.to_owned()))?;
    Ok((number + 1).to_string())
}

/// Gives the manifest another release.
pub(super) fn with_release(text: &str, before: &str, after: &str) -> String {
    let line = |line: &str| match line.starts_with("release:") {
        true => line.replacen(before, after, 1),
        false => line.to_owned(),
    };
    text.split_inclusive('\n').map(line).collect()
}

/// Where an entry begins and ends.
fn entry(text: &str, id: &str) -> Result<std::ops::Range<usize>, ManifestError> {
    let begin = format!("  - id: {id}\n");
    let absent = || ManifestError::Entry(id.to_owned());
    let start = text.find(&format!("\n{begin}")).map(|at| at + 1).ok_or_else(absent)?;
    let mut end = start + begin.len();
    for line in text[end..].split_inclusive('\n') {
        if !line.starts_with("    ") {
            break;
        }
        end += line.len();
    }
    Ok(start..end)
}

/// Lists a new epoch behind `before`, and makes what depended on that one depend on it as well.
pub(super) fn with_epoch(text: &str, before: &str, id: &str, defines: &str) -> Result<String, ManifestError> {
    let own = entry(text, before)?;
    let line = |line: &str| match line.trim_start() {
        at if at.starts_with("- id:") => format!("  - id: {id}\n"),
        at if at.starts_with("version:") => "    version: 1\n".to_owned(),
        at if at.starts_with("defines:") => format!("    defines: {defines}\n"),
        _ => line.to_owned(),
    };
    let entry: String = text[own.clone()].split_inclusive('\n').map(line).collect();
    let depending = |text: &str| -> String {
        let line = |line: &str| {
            let names = line.trim_start().starts_with("depends_on:")
                && line.split([' ', ',', '[', ']', '\n']).any(|word| word == before);
            match line.rfind(']').filter(|_| names) {
                Some(end) => format!("{}, {id}{}", &line[..end], &line[end..]),
                None => line.to_owned(),
            }
        };
        text.split_inclusive('\n').map(line).collect()
    };
    Ok(format!("{}{entry}{}", &text[..own.end], depending(&text[own.end..])))
}

/// Gives a definition its next version.
pub(super) fn with_version(text: &str, id: &str, version: u32) -> Result<String, ManifestError> {
    let own = entry(text, id)?;
    let mut has_one = false;
    let mut line = |line: &str| match line.trim_start().starts_with("version:") {
        true => {
            has_one = true;
            format!("    version: {version}\n")
        }
        false => line.to_owned(),
    };
    let entry: String = text[own.clone()].split_inclusive('\n').map(&mut line).collect();
    let entry = if has_one { entry } else { format!("{entry}    version: {version}\n") };
    Ok(format!("{}{entry}{}", &text[..own.start], &text[own.end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
release: \"2\"
objects:
  - id: data.v1
    version: 4
    defines: epochs/v1

  - id: data.all
    depends_on: [data.v0, data.v1]
  - id: data.other
    depends_on: [data.v10]
";

    #[test]
    fn an_epoch_is_listed_and_depended_on() {
        let text = with_epoch(TEXT, "data.v1", "data.v2", "epochs/v2").expect("an entry");
        let expected = "\
release: \"2\"
objects:
  - id: data.v1
    version: 4
    defines: epochs/v1
  - id: data.v2
    version: 1
    defines: epochs/v2

  - id: data.all
    depends_on: [data.v0, data.v1, data.v2]
  - id: data.other
    depends_on: [data.v10]
";
        assert_eq!(text, expected);
    }

    #[test]
    fn versions_and_releases_are_counted_on() {
        let text = with_version(TEXT, "data.v1", 5).expect("an entry");
        assert_eq!(text, TEXT.replace("version: 4", "version: 5"));
        assert!(with_version(TEXT, "data.all", 2).expect("an entry").contains("data.v1]\n    version: 2\n"));
        assert_eq!(with_release(TEXT, "2", "3"), TEXT.replace("\"2\"", "\"3\""));
        assert_eq!(next_release("9").as_deref(), Ok("10"));
        assert_eq!(next_release("2.1"), Err(ManifestError::Release("2.1".to_owned())));
        assert_eq!(with_version(TEXT, "data.v", 1), Err(ManifestError::Entry("data.v".to_owned())));
    }
}
