//! A `.proto` file as a [`Shape`], or everything that keeps it from being one, each with file, line and column.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use miette::{Diagnostic, SourceCode};
use protox::{
    Compiler,
    file::{File, FileResolver, GoogleFileResolver, IncludeFileResolver},
    prost_reflect::{DescriptorPool, FileDescriptor, Syntax},
};

use super::{
    places::{PACKAGE, Places, SYNTAX},
    reading::Reading,
    shape::{Shape, Spot},
};

/// Which file, and where what it imports is looked for.
#[derive(Debug, Clone)]
pub struct Source {
    /// The file.
    pub path: PathBuf,
    /// Directories of imports, besides the file's own.
    pub includes: Vec<PathBuf>,
    /// The record's message with its package.
    pub message: String,
}

/// One thing that is wrong with a `.proto` file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file as the operator named it, or as it is imported.
    pub file: String,
    /// Line and column, where there is a place.
    pub spot: Option<Spot>,
    /// What was read, and what is allowed.
    pub text: String,
}

/// The file can't be read as a record. `Display` names every problem on a line of its own.
#[derive(Debug, thiserror::Error)]
pub enum ProtoError {
    /// No such file, or not for this account.
    #[error("can't read {}: {source}", path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What it says is no record.
    #[error("{}", lines(.0))]
    Unfit(Vec<Problem>),
}

fn lines(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n  ")
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.spot {
            Some(Spot { line, column }) => write!(f, "{}:{line}:{column}: {}", self.file, self.text),
            None => write!(f, "{}: {}", self.file, self.text),
        }
    }
}

/// A file that was read.
#[derive(Debug, Clone)]
pub struct ProtoFile {
    /// Its text.
    pub text: String,
    /// What the record looks like.
    pub shape: Shape,
}

impl ProtoFile {
    /// Reads a file and what it imports.
    ///
    /// # Errors
    /// When it can't be read, isn't proto3, or holds something that no table has columns for.
    pub fn read(source: &Source) -> Result<Self, ProtoError> {
        let unreadable = |source_error| ProtoError::Unreadable { path: source.path.clone(), source: source_error };
        Self::of_text(fs::read_to_string(&source.path).map_err(unreadable)?, source)
    }

    /// Reads a text as if it stood in that file.
    ///
    /// # Errors
    /// When it isn't proto3, or holds something that no table has columns for.
    pub fn of_text(text: String, source: &Source) -> Result<Self, ProtoError> {
        // Some editors begin a file with a mark.
        let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
        let name = source.path.display().to_string();
        let pool = compile(&name, &text, source).map_err(ProtoError::Unfit)?;
        let file = pool.get_file_by_name(&name).expect("the file that was compiled");
        let shape = shape(&file, &source.message).map_err(ProtoError::Unfit)?;
        Ok(Self { text, shape })
    }
}

/// The descriptors inside the binary: of the record that this release was built with.
#[must_use]
pub fn embedded(message: &str) -> Option<Shape> {
    let pool = DescriptorPool::decode(crate::proto::DESCRIPTORS).ok()?;
    let file = pool.get_message_by_name(message)?.parent_file();
    shape(&file, message).ok()
}

/// Finds the file itself by the name it is shown under, and imports in the directories.
struct Resolver {
    name: String,
    text: String,
    includes: Vec<PathBuf>,
}

impl FileResolver for Resolver {
    fn resolve_path(&self, _: &Path) -> Option<String> {
        Some(self.name.clone())
    }

    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        if name == self.name {
            return File::from_source(name, &self.text);
        }
        for directory in &self.includes {
            match IncludeFileResolver::new(directory.clone()).open_file(name) {
                Err(error) if error.is_file_not_found() => {}
                found => return found,
            }
        }
        GoogleFileResolver::new().open_file(name)
    }
}

fn compile(name: &str, text: &str, source: &Source) -> Result<DescriptorPool, Vec<Problem>> {
    let own = source.path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut includes = vec![own.to_owned()];
    includes.extend_from_slice(&source.includes);
    let looked: Vec<String> = includes.iter().map(|path| path.display().to_string()).collect();
    let mut compiler =
        Compiler::with_file_resolver(Resolver { name: name.to_owned(), text: text.to_owned(), includes });
    compiler.include_source_info(true);
    match compiler.open_file(&source.path) {
        Ok(compiler) => Ok(compiler.descriptor_pool()),
        Err(error) => Err(problems(name, &error, &looked.join(", "))),
    }
}

/// What the compiler says, each with its place.
fn problems(name: &str, error: &protox::Error, looked: &str) -> Vec<Problem> {
    let file = error.file().unwrap_or(name).to_owned();
    let code = error.source_code();
    let related = error.related().into_iter().flatten();
    let mut found = Vec::new();
    for diagnostic in [error as &dyn Diagnostic].into_iter().chain(related) {
        let labels: Vec<_> = diagnostic.labels().into_iter().flatten().collect();
        let spot = |offset: usize| code.and_then(|code| spot(code, offset));
        // Where two places contradict each other, the one further down is the news.
        let last = labels.iter().max_by_key(|label| label.offset());
        let mut text = diagnostic.to_string();
        for label in labels.iter().filter(|label| labels.len() > 1 && Some(*label) != last) {
            let line = spot(label.offset()).map_or(0, |spot| spot.line);
            text += &format!(" ({} in line {line})", label.label().unwrap_or("also"));
        }
        if let Some(help) = diagnostic.help() {
            text += &format!("; {help}");
        }
        if error.is_file_not_found() {
            text += &format!("; looked in {looked}: give its directory with `-I DIRECTORY`");
        }
        found.push(Problem { file: file.clone(), spot: last.and_then(|label| spot(label.offset())), text });
    }
    found
}

fn spot(code: &dyn SourceCode, offset: usize) -> Option<Spot> {
    let contents = code.read_span(&(offset, 0).into(), 0, 0).ok()?;
    let number = |from_0: usize| u32::try_from(from_0 + 1).unwrap_or(u32::MAX);
    Some(Spot { line: number(contents.line()), column: number(contents.column()) })
}

/// The record of a file.
fn shape(file: &FileDescriptor, message: &str) -> Result<Shape, Vec<Problem>> {
    let places = Places::of(file);
    let fault =
        |path: &[i32], text: String| vec![Problem { file: file.name().to_owned(), spot: places.at(path), text }];
    if file.syntax() != Syntax::Proto3 {
        let text = "read proto2; records are proto3: start the file with `syntax = \"proto3\";`";
        return Err(fault(&[SYNTAX], text.to_owned()));
    }
    let Some(record) = file.messages().find(|found| found.full_name() == message) else {
        let known: Vec<String> = file.messages().map(|found| format!("`{}`", found.full_name())).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let package = message.rsplit_once('.').map_or("", |(package, _)| package);
        let read = match file.package_name() {
            "" if !package.is_empty() => {
                format!("no package; `{package}` is needed, or name the record by `--message`")
            }
            other if other != package => {
                format!("package `{other}`; `{package}` is needed, or name the record by `--message`")
            }
            _ => "no such message; name the record by `--message`".to_owned(),
        };
        return Err(fault(&[PACKAGE], format!("looked for message `{message}`: {read}; messages here: {known}")));
    };
    Reading { places, record }.shape()
}
