//! From a file to a model that can be searched, with everything the front-end has to say.

use std::io::{Read, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, bail};
use hadal_ir::interp::{Interpreter, Limits};
use hadal_jit::Native;
use hadal_model::Model;
use hadal_murphi::Dialect;
use hadal_symmetry::Symmetric;
use hadal_symmetry::order::Order;
use hadal_syntax::{Diagnostic, Renderer, Source};

use crate::flags::{EngineName, Language};
use crate::order::{self, OrderReport};
use crate::record::DiagnosticRecord;
use crate::style::Style;

/// What to load, and how.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) source: Source,
    pub(crate) language: Language,
    pub(crate) dialect: Dialect,
    pub(crate) constants: Vec<(String, String)>,
    pub(crate) symmetry: bool,
    pub(crate) limits: Limits,
    pub(crate) engine: EngineName,
}

/// A model, ready to be searched.
pub(crate) struct Loaded {
    pub(crate) source: Source,
    pub(crate) language: Language,
    pub(crate) model: Box<dyn Model>,
    /// The scalarsets that are reduced, e.g. `Proc(7): 5,040 permutations`.
    pub(crate) symmetry: Option<String>,
    /// How the results of its loops were found to be independent of the order of iterations;
    /// `None` where that does not matter.
    pub(crate) order: Option<OrderReport>,
    /// Final values of the model's global constants.
    pub(crate) constants: Vec<(String, String)>,
    /// Seconds to check the text.
    pub(crate) load_seconds: f64,
    /// Seconds to make it run.
    pub(crate) compile_seconds: f64,
}

/// A model that cannot be searched, for the run record; people have been told.
#[derive(Clone, Debug)]
pub(crate) struct Refused {
    pub(crate) diagnostics: Vec<DiagnosticRecord>,
}

/// A model, or why there is none.
pub(crate) type Loading = Result<Loaded, Refused>;

/// Loads a model. Where something is wrong with it, the diagnostics were printed to standard error.
pub(crate) fn load(request: Request, style: Style) -> anyhow::Result<Loading> {
    let begun = Instant::now();
    for (position, (name, _)) in request.constants.iter().enumerate() {
        if request.constants[..position]
            .iter()
            .any(|(earlier, _)| earlier == name)
        {
            bail!("constant `{name}` is set twice");
        }
    }
    let Request {
        source, language, ..
    } = request;
    let Language::Murphi = language;
    let options = hadal_murphi::Options {
        dialect: request.dialect,
        constants: request.constants,
    };
    let compiled = hadal_murphi::compile(&source, &options);
    let Some(program) = compiled.program else {
        let mut refused = refuse(&source, &compiled.diagnostics, style)?;
        for message in &compiled.unused_overrides {
            writeln!(std::io::stderr(), "{}: {message}", style.bad("error"))?;
            refused.diagnostics.push(DiagnosticRecord::error(message));
        }
        return Ok(Err(refused));
    };
    print_diagnostics(&source, &compiled.diagnostics, style)?;
    if request.symmetry && !compiled.symmetry_breaks.is_empty() {
        return Ok(Err(refuse(&source, &compiled.symmetry_breaks, style)?));
    }
    if let Err(errors) = hadal_ir::verify::verify(&program) {
        let first = errors.first().map_or(String::new(), ToString::to_string);
        bail!(Internal(format!(
            "the lowered model is malformed ({first}); please report this with the model"
        )));
    }
    let load_seconds = begun.elapsed().as_secs_f64();

    let begun = Instant::now();
    let reduces = request.symmetry && program.types.scalarsets.iter().any(|set| set.size > 1);
    let kept = reduces.then(|| program.clone());
    let interpreter = Interpreter::new(program, request.limits);
    let order = match reduces {
        true => Order::of(&interpreter),
        false => Order::default(),
    };
    if !order.refusals.is_empty() {
        let diagnostics = order::diagnostics(&source, interpreter.program(), &order.refusals);
        return Ok(Err(refuse(&source, &diagnostics, style)?));
    }
    let report = OrderReport::of(&order, interpreter.program(), &source);
    let inner: Box<dyn Model> = match request.engine {
        EngineName::Native => Box::new(Native::of(interpreter)?),
        EngineName::Interpreter => Box::new(interpreter),
    };
    let mut loaded = Loaded {
        source,
        language,
        model: inner,
        symmetry: None,
        order: None,
        constants: compiled.constants,
        load_seconds,
        compile_seconds: 0.0,
    };
    if let Some(program) = kept {
        let symmetric = Symmetric::new(loaded.model, &program, request.limits, &order);
        let symmetric = symmetric.expect("models that are refused are not wrapped");
        loaded.symmetry = Some(symmetric.canonicaliser().describe().to_string());
        loaded.order = Some(report.counting(symmetric.evaluations()));
        loaded.model = Box::new(symmetric);
    }
    loaded.compile_seconds = begun.elapsed().as_secs_f64();
    Ok(Ok(loaded))
}

/// Prints why a model cannot be searched, and keeps it for the run record.
fn refuse(source: &Source, diagnostics: &[Diagnostic], style: Style) -> anyhow::Result<Refused> {
    print_diagnostics(source, diagnostics, style)?;
    let record = |diagnostic| DiagnosticRecord::new(source, diagnostic);
    Ok(Refused {
        diagnostics: diagnostics.iter().map(record).collect(),
    })
}

/// A mistake of ours, as opposed to one in the input.
#[derive(Debug)]
pub(crate) struct Internal(pub(crate) String);

impl std::fmt::Display for Internal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "internal error: {}", self.0)
    }
}

impl std::error::Error for Internal {}

/// The text of a model and its language, which follows from the file's name unless it is `given`;
/// `-` is standard input.
pub(crate) fn read(path: &Path, given: Option<Language>) -> anyhow::Result<(Source, Language)> {
    if path.is_dir() {
        bail!("`{}` is a folder, not a model", path.display());
    }
    let language = match given {
        Some(language) => language,
        None => language_of(path)?,
    };
    Ok((read_source(path)?, language))
}

fn language_of(path: &Path) -> anyhow::Result<Language> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("m") => Ok(Language::Murphi),
        _ if path.as_os_str() == "-" => Ok(Language::Murphi),
        Some(other) => bail!(
            "cannot tell the language of `{}` from its extension `.{other}`; \
             Murphi models end in `.m`, or say --language murphi",
            path.display()
        ),
        None => bail!(
            "cannot tell the language of `{}`: it has no extension; say --language murphi",
            path.display()
        ),
    }
}

fn read_source(path: &Path) -> anyhow::Result<Source> {
    let (name, bytes) = if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin()
            .read_to_end(&mut bytes)
            .context("cannot read standard input")?;
        ("<stdin>".to_owned(), bytes)
    } else {
        let bytes =
            std::fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        (path.display().to_string(), bytes)
    };
    Ok(Source::from_bytes(name, bytes)?)
}

fn print_diagnostics(
    source: &Source,
    diagnostics: &[Diagnostic],
    style: Style,
) -> anyhow::Result<()> {
    if diagnostics.is_empty() {
        return Ok(());
    }
    let renderer = if style.is_enabled() {
        Renderer::coloured()
    } else {
        Renderer::plain()
    };
    let text = renderer.render_all(source, diagnostics);
    writeln!(std::io::stderr(), "{}", text.trim_end())?;
    Ok(())
}
