//! The table of all codes: the one place where a code, its meaning and its cure are written.
//!
//! Codes are stable: a number is never given to another problem, and a code that falls out of use stays reserved.

use std::fmt;
use std::str::FromStr;

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// What was asked for cannot be done.
    Error,
    /// It can be done, but perhaps not as meant.
    Warning,
    /// Worth knowing.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        })
    }
}

/// Who can cure a problem; decides the exit code of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// The run itself failed: the model was accepted but could not be simulated to its end.
    Run,
    /// The input is wrong: a circuit, a table, a state file or the command line.
    Input,
    /// The computer said no: a file cannot be read or written, the disk is full.
    Environment,
}

impl Category {
    /// Exit code of the command: 1 for a failed run, 2 for wrong input, 3 for the environment.
    pub fn exit_code(self) -> u8 {
        match self {
            Category::Run => 1,
            Category::Input => 2,
            Category::Environment => 3,
        }
    }
}

/// What is known about a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeInfo {
    /// The code, as `F0302`.
    pub code: &'static str,
    /// The problem in a few words.
    pub title: &'static str,
    /// What the message means.
    pub explanation: &'static str,
    /// What usually leads to it.
    pub cause: &'static str,
    /// What to do about it.
    pub cure: &'static str,
    /// How bad it is, unless the reporter says otherwise.
    pub severity: Severity,
}

/// A text that is no code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownCode(
    /// The text.
    pub String,
);

impl fmt::Display for UnknownCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a Fluxline code; codes look like F0302 or W0104", self.0)
    }
}

impl std::error::Error for UnknownCode {}

/// The first three characters of a code name its group.
const GROUPS: &[(&str, &str)] = &[
    ("F01", "Files and syntax"),
    ("F02", "Names and structure"),
    ("F03", "Units and values"),
    ("F04", "Connections"),
    ("F05", "Signals"),
    ("F06", "Sub-circuits"),
    ("F07", "Run settings and recording"),
    ("F08", "Tables"),
    ("F09", "Failures during a run"),
    ("F10", "Files on disk"),
    ("F11", "Saved states"),
    ("F12", "Command line"),
    ("F13", "Imported models"),
    ("F14", "Studies"),
    ("F15", "Circuits in parts"),
    ("F17", "Responses and sensitivity"),
    ("W01", "Warnings"),
    ("W13", "Warnings on imported models"),
];

macro_rules! codes {
    ($($name:ident $code:literal $severity:ident {
        title: $title:literal,
        means: $means:literal,
        cause: $cause:literal,
        cure: $cure:literal,
    })*) => {
        /// The stable code of a problem.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = concat!($code, ": ", $title, ".")] $name,)*
        }

        impl Code {
            /// All codes, in the order of their numbers.
            pub const ALL: &[Code] = &[$(Code::$name),*];

            /// Texts and severity.
            pub fn info(self) -> &'static CodeInfo {
                match self {
                    $(Code::$name => &CodeInfo {
                        code: $code,
                        title: $title,
                        explanation: $means,
                        cause: $cause,
                        cure: $cure,
                        severity: Severity::$severity,
                    },)*
                }
            }
        }
    };
}

codes! {
    InvalidToml "F0101" Error {
        title: "not valid TOML",
        means: "The file does not follow the TOML syntax, so nothing in it can be read.",
        cause: "A missing quote, bracket or equals sign, often on the line before the one that is marked. Quantities with a unit need quotes: `\"120 bar\"`.",
        cure: "Correct the marked place. The TOML syntax fits on one page: <https://toml.io>.",
    }
    NotUtf8 "F0102" Error {
        title: "file is not UTF-8 text",
        means: "The file holds bytes that are no UTF-8 characters.",
        cause: "It was saved as Latin-1, Windows-1252 or UTF-16, or it is not a text file.",
        cure: "Save the file as UTF-8, or name the right file.",
    }
    FileTooLarge "F0103" Error {
        title: "file too large or nested too deeply",
        means: "The file exceeds the limits that keep a broken or hostile file from using up the computer's memory.",
        cause: "A result or data file was given in place of a circuit, or a program generated the circuit with runaway nesting.",
        cure: "Name the right file; move long tables to CSV files and repeated parts to sub-circuits.",
    }
    UnknownKey "F0104" Error {
        title: "unknown key",
        means: "The file holds a key that has no meaning at this place. It would be ignored, and the model would differ from what was meant.",
        cause: "A misspelled key, or a key in the wrong table: in TOML, a key belongs to the last `[header]` above it.",
        cure: "Use the suggested key, or move the line under the right header.",
    }
    WrongType "F0105" Error {
        title: "value of the wrong type",
        means: "The key is known, but its value is of another kind: a list in place of a text, a number in place of a table.",
        cause: "Missing quotes around a text or a quantity, or missing brackets around a list.",
        cure: "Write the value as the message shows.",
    }
    MissingKey "F0106" Error {
        title: "required key missing",
        means: "A key that has no default is absent.",
        cause: "It was forgotten, misspelled, or stands under another header.",
        cure: "Add the key to the marked table.",
    }
    DuplicateKey "F0107" Error {
        title: "name given twice",
        means: "Two keys, components or parameters at one place have the same name, so it is unclear which one counts.",
        cause: "A block was copied and not renamed.",
        cure: "Rename or remove one of the two marked places.",
    }

    UnknownComponentType "F0201" Error {
        title: "unknown component type",
        means: "The library has no component of this type.",
        cause: "A misspelled type, a missing domain (`hydraulic.relief_valve`, not `relief_valve`), or a type of another tool.",
        cure: "Use one of the suggested types; the component pages of the book list all of them.",
    }
    UnknownComponent "F0202" Error {
        title: "unknown component",
        means: "A connection or expression names a component that this circuit does not have.",
        cause: "A misspelled name, or a component that was renamed or lives in another sub-circuit.",
        cure: "Use one of the suggested names, or add `[components.<name>]`.",
    }
    UnknownPort "F0203" Error {
        title: "unknown port",
        means: "The component exists, but has no port of this name.",
        cause: "A misspelled port, or the name that the port has in another tool.",
        cure: "Use one of the suggested ports; the page of the component lists them.",
    }
    UnknownParameter "F0204" Error {
        title: "unknown parameter",
        means: "The component's type has no parameter of this name.",
        cause: "A misspelled parameter, or one of a similar type.",
        cure: "Use one of the suggested parameters; the page of the component lists them with units and ranges.",
    }
    UnknownName "F0205" Error {
        title: "unknown name in an expression",
        means: "An expression uses a name that is neither a parameter, a function, a constant nor a unit known there.",
        cause: "A misspelled name, or a parameter that is not declared under `[parameters]` of the same circuit.",
        cure: "Use one of the suggested names, or declare the parameter. Sub-circuits see only their own parameters.",
    }
    BadName "F0206" Error {
        title: "name with characters that are not allowed",
        means: "A component, port or parameter has a name that could not be used in paths and expressions.",
        cause: "Spaces, dots, operators or a leading digit in the name.",
        cure: "Use letters, digits and underscores, beginning with a letter.",
    }
    CircularParameters "F0207" Error {
        title: "parameters depend on each other in a circle",
        means: "The value of a parameter depends, perhaps through others, on itself. The message prints the circle.",
        cause: "Two parameters were each written in terms of the other.",
        cure: "Give one parameter of the circle a value of its own.",
    }
    EmptyCircuit "F0208" Error {
        title: "circuit without components",
        means: "There is nothing to simulate.",
        cause: "The file is empty, or components stand under another header than `[components.<name>]`.",
        cure: "Add at least one component.",
    }

    UnparsableQuantity "F0301" Error {
        title: "not a quantity",
        means: "The text cannot be read as a number with a unit.",
        cause: "A missing number, two numbers, or a stray character.",
        cure: "Write a number, a space and a unit: `\"120 bar\"`, `\"1.5e-3 m^3/s\"`.",
    }
    WrongDimension "F0302" Error {
        title: "wrong physical dimension",
        means: "The value is, for example, a flow where a pressure is needed. The message names both.",
        cause: "The value was given to the wrong parameter, a unit is wrong (`l/min` for `bar`), or a factor is missing in an expression.",
        cure: "Give a value in a unit of the expected kind, or use the suggested parameter.",
    }
    UnknownUnit "F0303" Error {
        title: "unknown unit",
        means: "The number is clear, but its unit is not known.",
        cause: "A misspelled unit or wrong case: units tell `mPa` from `MPa`.",
        cure: "Use one of the suggested units; the units page of the book lists all of them.",
    }
    OutOfRange "F0304" Error {
        title: "value out of range",
        means: "The value lies outside the range for which the component's equations hold. The message states value and range.",
        cause: "A slip of a power of ten, a wrong unit, or a negative number where direction is given by the ports.",
        cure: "Correct the value. If it is really meant, another component type may cover that range.",
    }
    NotFinite "F0305" Error {
        title: "value is not finite",
        means: "An expression has no finite value: a division by zero, the root or logarithm of a negative number, an overflow.",
        cause: "A parameter in a denominator is zero, or two values that should differ are equal.",
        cure: "Correct the expression or the parameters that it uses.",
    }
    NotAnInteger "F0306" Error {
        title: "not a whole number",
        means: "A count, such as the number of pistons, needs a whole number.",
        cause: "A fraction, a unit, or an expression whose result is not whole.",
        cure: "Give a whole number without a unit; round the expression if need be.",
    }
    NotAChoice "F0307" Error {
        title: "not one of the choices",
        means: "The parameter takes one of a few words, and this is none of them.",
        cause: "A misspelled word.",
        cure: "Use one of the words that the message lists.",
    }
    DecimalComma "F0308" Error {
        title: "decimal comma",
        means: "A number is written with a comma. Files mean the same in every country, so only the decimal point is read.",
        cause: "A number typed or exported with German, Swedish, French or similar settings, or a comma between thousands.",
        cure: "Write `1.5`, not `1,5`; write `12000`, not `12,000`.",
    }
    ExpressionSyntax "F0309" Error {
        title: "expression cannot be read",
        means: "The text is neither a quantity nor a complete expression.",
        cause: "A missing bracket or operator: write `2*area`, not `2 area`.",
        cure: "Correct the marked place.",
    }
    InconsistentParameters "F0310" Error {
        title: "parameters contradict each other",
        means: "Each value is fine alone, but together they describe nothing that can be built, such as a rod thicker than the bore.",
        cause: "Two values were exchanged, or one of them has the wrong unit.",
        cure: "Correct one of the values that the message names.",
    }

    PortConnectedTwice "F0401" Error {
        title: "port connected twice",
        means: "A port takes part in two connections.",
        cause: "A branch was drawn as two connections.",
        cure: "Name all partners in one connection: `to = [\"relief.inlet\", \"valve.p\"]`. The junction is then one volume.",
    }
    PortNotConnected "F0402" Error {
        title: "port not connected",
        means: "A port without which the component's equations have no solution is open.",
        cause: "A connection is missing or ends at another port.",
        cure: "Connect the port. To close it off, connect it to a plug; for an open end, to a tank.",
    }
    DomainsDiffer "F0403" Error {
        title: "ports of different domains",
        means: "A connection joins, for example, a hydraulic and a mechanical port. They exchange different kinds of power.",
        cause: "The wrong port of a component that has both, such as a cylinder or a pump.",
        cure: "Connect ports of one domain; a pump, motor or cylinder converts between two.",
    }
    CPortsCannotJoin "F0404" Error {
        title: "two ideal sources joined",
        means: "Both ports prescribe the pressure (force, voltage) at the junction, so the flow between them is undetermined.",
        cause: "Two ideal sources, or a source and a tank, are joined with nothing between.",
        cure: "Put a component with a resistance between the two, such as an orifice, or a line with length and bore.",
    }
    ConnectedToItself "F0405" Error {
        title: "port connected to itself",
        means: "Both ends of a connection are the same port.",
        cause: "A copied line in which one end was not changed.",
        cure: "Correct one end, or remove the connection.",
    }
    LineDimensions "F0406" Error {
        title: "line needs length and bore, or a volume",
        means: "A line is described either by its length and bore or by its volume. One of these is missing, or both are given.",
        cause: "`length` without `bore`, or `volume` added to a line that has both.",
        cure: "Write `line = { length = \"2 m\", bore = \"19 mm\" }` or `line = { volume = \"0.5 l\" }`.",
    }
    FluidsDiffer "F0407" Error {
        title: "different fluids joined",
        means: "A connection joins two parts of the circuit that are filled with different fluids.",
        cause: "Two components or sub-circuits each name a fluid of their own.",
        cure: "Use one fluid on both sides, or separate them by a component that does, such as a piston.",
    }
    SinglePortConnection "F0408" Error {
        title: "connection with a single port",
        means: "A connection has one port only, so it joins nothing.",
        cause: "`to` is missing or an empty list.",
        cure: "Name the other port, or remove the connection.",
    }

    AlgebraicLoop "F0501" Error {
        title: "algebraic loop of signals",
        means: "A signal depends on itself within one step, so its components cannot be put into an order. The message prints the loop port by port.",
        cause: "A feedback without any dynamics in it: gains, sums and limits only.",
        cure: "Put the dynamics that the real loop has into it (a filter, an integrator, a sampler), or a delay of one step.",
    }
    InputDrivenTwice "F0502" Error {
        title: "input driven twice",
        means: "Two signals lead to one input.",
        cause: "A signal was replaced and the old connection left behind.",
        cure: "Remove one connection, or add the signals with a sum.",
    }
    WrongPortKind "F0503" Error {
        title: "signal joined to a power port",
        means: "A signal carries a number; a power port exchanges power. They cannot be joined, nor can two outputs or two inputs.",
        cause: "A sensor's output was led to the measured port, or an input to an input.",
        cure: "Measure a power port with a sensor; drive it with a source that has a signal input.",
    }
    SignalUnitDiffers "F0504" Error {
        title: "signal and input differ in unit",
        means: "The signal carries another physical quantity than the input expects. The message names both.",
        cause: "The wrong sensor or output, or a controller whose output has no unit.",
        cure: "Connect a signal of the expected kind, or put a gain with a unit between.",
    }

    SubcircuitNotFound "F0601" Error {
        title: "sub-circuit not found",
        means: "There is neither a file nor a table for a sub-circuit.",
        cause: "A misspelled name or a path that is not relative to the file which names it.",
        cure: "Correct the name or the path.",
    }
    SubcircuitIncludesItself "F0602" Error {
        title: "sub-circuit contains itself",
        means: "A sub-circuit uses itself, perhaps through others; its expansion would never end. The message prints the chain.",
        cause: "A file was copied and still names the original.",
        cure: "Break the chain at one of the places shown.",
    }
    SubcircuitStep "F0603" Error {
        title: "sub-circuit's step does not divide the main step",
        means: "A sub-circuit with its own step must take a whole number of steps in each step of the circuit around it.",
        cause: "One of the two steps was changed.",
        cure: "Choose the main step divided by 2, 3, 4, …; the message proposes the nearest.",
    }
    UnknownExposedPort "F0604" Error {
        title: "exposed port does not exist",
        means: "A sub-circuit offers a port to the outside that none of its components has.",
        cause: "A component within was renamed.",
        cure: "Correct the component or the port on the right-hand side.",
    }
    NestingTooDeep "F0605" Error {
        title: "sub-circuits nested too deeply",
        means: "Sub-circuits contain each other to a depth beyond the limit.",
        cause: "Generated files, or a chain that hardly differs from a circle.",
        cure: "Flatten some of the levels.",
    }

    BadRunTimes "F0701" Error {
        title: "start, stop or step makes no run",
        means: "The step is zero or negative, or the run stops before it starts.",
        cause: "A unit slip (`s` for `ms`), or start and stop exchanged.",
        cure: "Give `0 < step ≤ stop − start`, for example `stop = \"3 s\"`, `step = \"0.1 ms\"`.",
    }
    StepTooLarge "F0702" Error {
        title: "step too large for a line or delay",
        means: "A wave needs less than one step to travel the line, so the line cannot be followed with this step.",
        cause: "A short line, or a step chosen for slower parts of the machine.",
        cure: "Use the step that the message names, or describe the line by its volume: it is then treated as one.",
    }
    RecordMatchesNothing "F0703" Error {
        title: "record pattern matches nothing",
        means: "No variable of the circuit fits a pattern under `record`; after a long run the result would be missing.",
        cause: "A misspelled or renamed component or variable.",
        cure: "Use one of the suggested names, or remove the pattern.",
    }
    UnknownPlotVariable "F0704" Error {
        title: "plot of an unknown variable",
        means: "A plot in the circuit file asks for a variable that is not recorded.",
        cause: "A misspelled name, or a `record` list that leaves it out.",
        cure: "Use one of the suggested names, or add the variable to `record`.",
    }
    TooManySteps "F0705" Error {
        title: "too many steps or samples",
        means: "The run would take more steps, or store more samples, than the limits allow.",
        cause: "A unit slip in `stop` or `step`, or recording of every step of a long run.",
        cure: "Correct the times, record fewer variables or less often, or raise the limit on purpose.",
    }
    UnknownSetting "F0706" Error {
        title: "unknown value of a run setting",
        means: "A setting of the run, such as the solver, has a value that is not known.",
        cause: "A misspelled word, or a solver of another tool.",
        cure: "Use one of the words that the message lists.",
    }
    NotLumped "F0707" Error {
        title: "circuit has no lumped view",
        means: "A solver of lumped circuits was asked for, but something in the circuit only exists in steps of the wave method, or nothing determines one of its variables without waves.",
        cause: "A component that follows another program step by step, moving parts that meet without a mass, or an ideal source that is joined directly to a volume.",
        cure: "Run with `solver = \"tlm\"`, or add what is missing between the components that the message names.",
    }

    TableMissing "F0801" Error {
        title: "table file missing",
        means: "A component takes its data from a file that is not there.",
        cause: "A misspelled name or a path that is not relative to the circuit file.",
        cure: "Correct the path, or put the file there.",
    }
    TableMalformed "F0802" Error {
        title: "table cannot be read",
        means: "A line of a table does not hold the numbers that are expected. The message names line and column.",
        cause: "A decimal comma, another separator, a missing value or a comment in the middle of the data.",
        cure: "Correct the line; columns are separated by commas, numbers have decimal points.",
    }
    TableNotIncreasing "F0803" Error {
        title: "table not increasing",
        means: "The first column must increase from row to row; between equal or falling values nothing can be interpolated.",
        cause: "A repeated time, unsorted rows, or time stamps with too few digits.",
        cure: "Sort the rows and remove repeated ones. For a jump, use two rows that lie close together.",
    }
    TableTooShort "F0804" Error {
        title: "table with too few points",
        means: "There are fewer rows or columns than the interpolation needs.",
        cause: "An export that ended early, or a header taken for data.",
        cure: "Add the missing points, or use a constant in place of the table.",
    }

    Diverged "F0901" Error {
        title: "run diverged",
        means: "A variable became infinite or undefined. The run stopped at once; the message names the first component where it happened, the time and the last good step.",
        cause: "A very small volume or mass with a large step, a missing leakage or friction, or an unstable controller.",
        cure: "Look at the named component: enlarge the volume, reduce the step, or lower the controller's gain.",
    }
    NotConverged "F0902" Error {
        title: "equations of a component did not converge",
        means: "Within one step, the equations of one component found no solution to the required accuracy. Results up to the step before are good.",
        cause: "A jump in a characteristic or a table, or values far outside the range of validity.",
        cure: "Reduce the step, smooth the characteristic, and check the values that the message prints.",
    }
    StoppedByComponent "F0903" Error {
        title: "stopped by a component",
        means: "A component ended the run because a condition that it watches was met. The results up to then are good.",
        cause: "The condition was reached, as intended, or the model went where it should not.",
        cure: "If the stop is unwanted, change the component's limit or remove it.",
    }
    Interrupted "F0904" Error {
        title: "interrupted",
        means: "The run was ended from outside before its stop time. The results up to then are good but incomplete.",
        cause: "Ctrl-C, a time limit, or the system shutting down.",
        cure: "Run again.",
    }
    NotAtRest "F0905" Error {
        title: "circuit did not come to rest",
        means: "The search for a steady state ended without one. The message lists the components that change most.",
        cause: "The circuit oscillates, a cylinder keeps moving, or a volume without outlet keeps filling.",
        cure: "Hold what should stand still, add the missing leakage, or start from given values.",
    }
    StepControlFailed "F0906" Error {
        title: "step size control gave up",
        means: "The solver with variable step could not meet the tolerance even with its smallest step. The message names the variable that limits it.",
        cause: "A jump in the equations, chattering between two states, or a tolerance tighter than the arithmetic.",
        cure: "Relax the tolerance, smooth the component that is named, or use the fixed-step solver.",
    }

    SolverFailed "F0907" Error {
        title: "solver gave up",
        means: "A solver found no acceptable step. The message names the state that stands in its way, what is left of its equation, and the time. Results up to there are kept.",
        cause: "An explicit solver with a step beyond its stability limit, a jump in a characteristic, or a tolerance tighter than the arithmetic.",
        cure: "Take a smaller step or an implicit solver (sdirk2, rosenbrock), or treat small volumes algebraically; `fluxline stiffness` shows what limits the step.",
    }
    RankLost "F0908" Error {
        title: "rank of an MPI job is lost",
        means: "A process of the job ended before its work was done, and the others cannot go on without it. Nothing of the run is kept, because parts of it are missing.",
        cause: "It was killed, by a user or by a system that ran out of memory, or its host failed.",
        cure: "Look at the memory and the limits of that host, and run again. Variants of a sweep that were finished are kept with `--out`.",
    }

    CannotRead "F1001" Error {
        title: "file cannot be read",
        means: "The operating system refused to open or read a file. The message holds its reason.",
        cause: "The file is not there, is a folder, or may not be read by this user.",
        cure: "Check the name, the current folder and the permissions.",
    }
    CannotWrite "F1002" Error {
        title: "file cannot be written",
        means: "The operating system refused to create or write a file. The message holds its reason.",
        cause: "The folder does not exist or is read-only, or another program holds the file open.",
        cure: "Choose another place, create the folder, or close the other program.",
    }
    DiskFull "F1003" Error {
        title: "disk full",
        means: "A file could be written in part only, so it must not be used.",
        cause: "The disk or the user's quota is full.",
        cure: "Free some space, write elsewhere, or record fewer variables or less often.",
    }

    StateCorrupt "F1101" Error {
        title: "state file damaged",
        means: "A saved state is incomplete, altered, or not a state file at all. Nothing was restored.",
        cause: "Writing was cut short, the file was edited, or it comes from an incompatible version.",
        cure: "Save the state again.",
    }
    StateOfAnotherCircuit "F1102" Error {
        title: "state of another circuit",
        means: "The saved state does not fit the circuit: components or their types differ. Nothing was restored.",
        cause: "The circuit was changed after the state was saved, or the files were mixed up.",
        cure: "Restore into the circuit that saved it, or save a new state.",
    }

    UnknownVariable "F1201" Error {
        title: "unknown variable",
        means: "The variable asked for on the command line is not among the results.",
        cause: "A misspelled name, or a variable that was not recorded.",
        cure: "Use one of the suggested names, or record the variable and run again.",
    }
    BadOverride "F1202" Error {
        title: "`--set` cannot be read",
        means: "What follows `--set` is not of the form `name=value`.",
        cause: "A missing equals sign, or a shell that split the value at a space.",
        cure: "Quote the whole: `--set \"relief.cracking_pressure=140 bar\"`.",
    }
    UnknownCase "F1203" Error {
        title: "unknown case to reproduce",
        means: "There is no published case of this name.",
        cause: "A misspelled name.",
        cure: "Use one of the names that the message lists.",
    }
    UnknownFormat "F1204" Error {
        title: "unknown output format",
        means: "Results cannot be written in the format asked for.",
        cause: "A misspelled format or file ending, or a format that this build leaves out.",
        cure: "Use one of the formats that the message lists.",
    }
    NoOwnCode "F1205" Error {
        title: "circuit cannot be written as code",
        means: "The step of a circuit could not be followed as plain arithmetic, or the code was not compiled. The message names the first component that stands in the way; `fluxline run` steps such components by the engine.",
        cause: "A component that looks up a long table, remembers a long history (a pipe with its delay), draws random numbers or solves its equations by a long iteration; or the processor has no AVX2 and there is no C compiler.",
        cure: "Replace the component that is named by one with a closed form, such as a volume for a pipe; or run the circuit with `fluxline run`.",
    }
    InvalidXml "F1301" Error {
        title: "not valid XML",
        means: "The model file does not follow the XML syntax, so nothing in it can be read.",
        cause: "The file was cut off while it was copied or saved, or was edited by hand.",
        cure: "Get a whole copy of the file, or open it in the program that wrote it and save it again.",
    }
    NotAnImport "F1302" Error {
        title: "not a file of the expected kind",
        means: "The XML file has another root element than the files of its kind, or lacks the part that holds the model.",
        cause: "A file of another program, or another kind of file of the same one.",
        cure: "Name the right file: a model is a `.hmf`, a validation a `.hvc`, a set of parameters a `.hpf`.",
    }
    ImportedEnd "F1303" Error {
        title: "imported connection leads nowhere",
        means: "A connection of the imported model names a component or port that the model does not hold.",
        cause: "The component was deleted or renamed by hand in the file, or the model was incomplete already.",
        cure: "Repair the connection in the program that wrote the file, or delete the `connect` element.",
    }
    ExternalSystem "F1304" Error {
        title: "external sub-system cannot be loaded",
        means: "The model takes a sub-system from another file, and that file cannot be used.",
        cause: "The file was not copied along with the model, or the files include each other in a circle.",
        cure: "Put the file where the message looks for it, or break the circle.",
    }
    BadExpression "F1305" Error {
        title: "expression of an imported model cannot be read",
        means: "The value of a parameter, or a line of a script, is neither a number nor an expression of the language that the model is written in.",
        cause: "A typing mistake, or a form that this language lacks: two operators in a row (`2*-3`), powers of powers (`2^3^2`), a function with a comma inside another (`max(min(1,2),3)`).",
        cure: "Correct the expression; parentheses help where two operators meet.",
    }
    UnknownNameInExpression "F1306" Error {
        title: "unknown name in an expression of an imported model",
        means: "An expression uses a name that is no parameter within its reach: its own component by `self.name`, and parameters of type double of the systems around it.",
        cause: "A misspelled name, a parameter of another component or type, or a parameter of the same component without `self.`.",
        cure: "Use one of the suggested names, or declare the parameter in a system around.",
    }
    ImportedCircle "F1307" Error {
        title: "parameters depend on each other in a circle",
        means: "The value of a parameter depends, perhaps over others, on itself, or on so many others in turn that it cannot be computed in reasonable time.",
        cause: "An expression that names its own parameter with `self.`, or two parameters that name each other.",
        cure: "Give one of the parameters on the circle a number.",
    }
    BadImportedValue "F1308" Error {
        title: "value does not fit the parameter",
        means: "A parameter of an imported model is an integer, a switch or a choice, and its value is not.",
        cause: "An expression where only a number or one name may stand, or a choice that the component does not have.",
        cure: "Give a value of the kind that the message names.",
    }
    UnknownImportedName "F1309" Error {
        title: "unknown name in an imported model",
        means: "A setting from outside names a component or parameter that the imported model does not have.",
        cause: "A misspelled name. Names are `Component#parameter`, `Component#port#Variable`, `Sub$Component#parameter`, and `self#name` for a parameter of the model itself.",
        cure: "Use one of the suggested names.",
    }
    BadImportedSetting "F1310" Error {
        title: "setting for an imported model cannot be read",
        means: "A setting from the command line or a parameter file is not of the form `name=value` or `name,value`.",
        cause: "A missing equals sign or comma, or a name without the `#` between component and parameter.",
        cure: "Write `Component#parameter=value` on the command line, `Component#parameter,value` in a file.",
    }
    BadValidation "F1311" Error {
        title: "validation file cannot be used",
        means: "A validation file lacks something that the comparison needs, or its data are not a table of numbers.",
        cause: "A wrong column number, a damaged line of data, or a version of the format that is not known.",
        cure: "Correct the place that the message names.",
    }
    UnsupportedImport "F1312" Error {
        title: "part of the imported model is not supported",
        means: "The model uses a component type, or a feature, that this program does not have.",
        cause: "A type of a library that does not come with Hopsan, or a rare one.",
        cure: "Replace the component in the program that wrote the model; the message counts what is concerned.",
    }

    BadVariation "F1401" Error {
        title: "values of a varied parameter cannot be read",
        means: "What `--vary` says of a parameter is no range, list or distribution.",
        cause: "A misspelled distribution, a missing bracket, a range that does not rise, or values of different kinds.",
        cure: "Write \"valve.diameter=5 mm..15 mm:11\" for levels, \"name=[1 bar, 2 bar]\" for a list, \"name=normal(100 kg, 5 kg)\" for a distribution.",
    }
    BadDesign "F1402" Error {
        title: "the runs of a study are not determined",
        means: "What is varied, the design and the number of runs do not make a study.",
        cause: "A grid over a distribution, which has no levels, or a number of runs that is missing.",
        cure: "Give levels to every parameter of a grid, or choose a design with a number of runs: `--design lhs --runs 1000`.",
    }
    BadMetric "F1403" Error {
        title: "metric cannot be computed",
        means: "A metric names a function or a variable that does not exist, or its units do not fit.",
        cause: "A misspelled name, or a quantity of another kind.",
        cure: "Write functions of signals such as \"overshoot(load.x)\" or \"max(load.x) - 0.2 m\"; `fluxline run` lists the variables.",
    }
    OtherStudy "F1404" Error {
        title: "unfinished results belong to another study",
        means: "Beside the result file lie results of a study that was interrupted, but its circuit, parameters, design or metrics were others, or its file of signals is not the one that its rows belong to.",
        cause: "The circuit file or the command has been changed since, or one of the two files has been removed or replaced.",
        cure: "Go back to the former command to finish it, choose another name, or begin again with `--restart`.",
    }
    BadStudy "F1405" Error {
        title: "study file does not make a study",
        means: "Each part of the study file can be read, but together they make no study: nothing is varied, there is nothing to judge runs by, or the method cannot do what is asked of it.",
        cause: "A missing `[[variable]]` or `[[objective]]`, an empty range, or a method that knows no constraints, no levels or no second objective.",
        cure: "The message names what is missing or does not fit together, and what would.",
    }
    BadData "F1406" Error {
        title: "measured data do not fit the study",
        means: "A column that the study names is not in the data file, has another kind of unit than the variable it is compared with, or holds no numbers in the time that is asked for.",
        cause: "A misspelled name of a column, a header without unit, or times that lie outside the run.",
        cure: "Write headers as `name [unit]`, with a column `time [s]`, and name the columns in the study file as they are in the data.",
    }

    BadPartition "F1501" Error {
        title: "partition does not fit the circuit",
        means: "A file that says which component runs in which part leaves some out, names others, or gives parts that do not exist.",
        cause: "The circuit was changed after it was partitioned, or the file was edited by hand.",
        cure: "Partition the circuit again with `fluxline partition`.",
    }

    BadCosts "F1502" Error {
        title: "file of costs is wrong",
        means: "A file that says what a step of each component type costs, and what exchange between parts costs, cannot be used.",
        cause: "It was edited by hand: a time without a unit, a missing section, or a type that the circuit has and the file does not.",
        cure: "Leave `--costs` out to measure this machine, and begin from the file that is then kept.",
    }

    BadGroup "F1503" Error {
        title: "group without components",
        means: "A group of components that should stay together names none, or only one, of the circuit.",
        cause: "A name is misspelled, or lacks the name of the sub-circuit before it.",
        cure: "Give names or patterns of at least two components, separated by commas: `--groups \"pump, relief*\"`.",
    }

    NoSuchInput "F1701" Error {
        title: "signal cannot be added there",
        means: "A frequency response begins at an input of a component, or at an output that inputs are connected to. The name is neither.",
        cause: "A misspelled name, or a variable that is computed, such as a pressure.",
        cure: "Name an input such as valve.signal, or the output of a source such as reference.out.",
    }
    NoLinearisation "F1702" Error {
        title: "circuit cannot be linearised",
        means: "At this operating point the step of the circuit has no finite derivative, or the circuit is too large for it.",
        cause: "A jump or an infinite slope exactly at the point, or lines with very many steps of delay.",
        cure: "Look at another point (`--at TIME`), or measure the response by simulation (`--measure multisine`).",
    }
    NoSpectrum "F1703" Error {
        title: "no spectrum of these values",
        means: "The frequencies, the segment or the samples that were asked for do not make a spectrum.",
        cause: "Too few samples, a frequency above half the sampling rate, or a range that is empty.",
        cure: "Take lower frequencies or a smaller step; record more samples.",
    }
    NoDerivative "F1704" Error {
        title: "no exact derivative of a run",
        means: "Derivatives go through a run only where its numbers are smooth functions of the parameters.",
        cause: "A parameter that is zero or that changes the number of steps of a delay, or oil that carries temperature.",
        cure: "Compare runs: `--method differences`.",
    }

    UnusedParameter "W0101" Warning {
        title: "parameter not used",
        means: "A parameter is declared, but nothing depends on it. Changing it changes nothing.",
        cause: "The expression that should use it holds a number instead.",
        cure: "Use the parameter, or remove it.",
    }
    DefaultLineVolume "W0102" Warning {
        title: "line with the default volume",
        means: "A connection does not say how large its line is, so a default volume is used. It sets how fast the pressure there rises.",
        cause: "`line` was left out.",
        cure: "Add `line = { length = …, bore = … }` or `line = { volume = … }`.",
    }
    CoarseStep "W0103" Warning {
        title: "step coarse for a line",
        means: "Each line adds a small inertia that real oil does not have. It grows with the square of the step, and here it is no longer small.",
        cause: "A small volume and a large step.",
        cure: "Reduce the step to the value in the message, or check that the volume is right.",
    }
    Cavitation "W0104" Warning {
        title: "cavitation",
        means: "The pressure fell to the vapour pressure, where oil boils. The model conserves mass there, but real behaviour scatters.",
        cause: "A load that drives the actuator, a narrow suction line, or a valve that closes fast.",
        cure: "Check whether the machine does this too. If so: anti-cavitation valves, a wider suction line, higher back pressure.",
    }
    LimitHit "W0105" Warning {
        title: "limit hit",
        means: "A variable was held at the limit of its range of validity; beyond it the component's equations do not apply.",
        cause: "A component that is too small for its task, or a wrong value elsewhere.",
        cure: "Check the variable around the time that the message names.",
    }
    JoinedCPorts "W0106" Warning {
        title: "joining element inserted",
        means: "Two ports that both prescribe a pressure (force, voltage) meet; an element that balances their flows was inserted.",
        cause: "Two volumes or lines are connected with nothing between. That is fine if they are meant to be one junction.",
        cure: "None needed. To avoid it, merge the two volumes, or put the restriction between them that the machine has.",
    }
    UnusedSignal "W0107" Warning {
        title: "signal not used",
        means: "The output of a signal component leads nowhere and is not recorded.",
        cause: "A connection is missing, or the component is left over.",
        cure: "Connect or record the output, or remove the component.",
    }
    ParameterOverridden "W0108" Warning {
        title: "parameter overridden",
        means: "A value of the file was replaced by one given elsewhere; the message shows both.",
        cause: "`--set` on the command line, or a sub-circuit used with its own value.",
        cure: "None needed if intended.",
    }
    LoopBroken "W0109" Warning {
        title: "signal loop broken by a delay of one step",
        means: "A loop of signals without dynamics was opened with a delay of one step, so the result depends slightly on the step.",
        cause: "A feedback of gains, sums and limits only, in a file whose tool of origin allows that.",
        cure: "Add the dynamics that the real loop has, or check that a smaller step gives the same result.",
    }
    UnstableStep "W0110" Warning {
        title: "step beyond the stability limit",
        means: "An explicit solver is used with a step larger than the largest stable one at the start of the run; the message gives both. The run may oscillate or diverge.",
        cause: "A small volume or a stiff spring makes the circuit faster than the step.",
        cure: "Take the smaller step, an implicit solver, or treat small volumes algebraically.",
    }
    VolumeNotSmall "W0111" Warning {
        title: "volume is not small",
        means: "A volume is to be replaced by its steady state although it is about as slow as the rest of the circuit; the message gives both time constants.",
        cause: "It was named in the list of small volumes, or the threshold is too large.",
        cure: "Integrate it: take it out of the list.",
    }
    NotCompiled "W0112" Warning {
        title: "no code of its own",
        means: "A run was to be stepped by code of its own, and there is none: the message says why. The engine takes all steps instead, with the same results, but slower.",
        cause: "With `fused = \"compiled\"`, or on a processor without AVX2: there is no C compiler, or the one that CC names cannot be used or hangs. Or the circuit cannot be written as code.",
        cure: "Let Fluxline write the code, with `fused = \"on\"`; install a C compiler as `cc`, or let CC name one, with its arguments; or do without, with `fused = \"off\"` or `--fused off`.",
    }
    EncodingGuessed "W1301" Warning {
        title: "encoding of the file guessed",
        means: "The file is not in the encoding that it claims, and was read in the most likely one.",
        cause: "An old program saved it in the encoding of its computer.",
        cure: "Check names and texts with special letters; save the file as UTF-8.",
    }
    OddAttribute "W1302" Warning {
        title: "value in the imported file is odd",
        means: "A number, switch or text of the imported file is not written as it should be. It was read as the program of origin reads it, or as obviously meant.",
        cause: "Editing by hand, or a computer set to a decimal comma.",
        cure: "Check the value that the message names.",
    }
    ImportRenamed "W1303" Warning {
        title: "imported part renamed",
        means: "A component, port or parameter has another name here than in the file, because two have the same or it holds characters that names cannot have.",
        cause: "An old file, or one that was edited by hand.",
        cure: "Nothing; connections and expressions were renamed along. Use the new name on the command line.",
    }
    IgnoredParameter "W1304" Warning {
        title: "imported parameter ignored",
        means: "The file gives a parameter that the component does not have, or a value that something else overrules. The program of origin ignores it as well.",
        cause: "The file was saved by another version, whose component had this parameter.",
        cure: "Nothing, if the model gives the results it used to; else look for the new name of the parameter.",
    }
    OldImport "W1305" Warning {
        title: "names of an old version converted",
        means: "The file was saved by an old version; types, ports or parameters that have been renamed since were converted.",
        cause: "The age of the file.",
        cure: "Nothing; compare results with old ones if there are any.",
    }
    IgnoredPart "W1306" Warning {
        title: "part of the imported file ignored",
        means: "The file holds an element that has no meaning at its place, or lacks an attribute without which it has none.",
        cause: "Editing by hand, or a newer version of the format.",
        cure: "Check that nothing is missing in the imported model.",
    }
}

impl Code {
    /// The code, as `F0302`.
    pub fn as_str(self) -> &'static str {
        self.info().code
    }

    /// The problem in a few words.
    pub fn title(self) -> &'static str {
        self.info().title
    }

    /// Who can cure it.
    pub fn category(self) -> Category {
        match &self.as_str()[..3] {
            "F09" => Category::Run,
            "F10" => Category::Environment,
            // Counts only where a user turns warnings into errors.
            _ if matches!(self, Code::Cavitation | Code::LimitHit) => Category::Run,
            _ => Category::Input,
        }
    }

    /// The heading under which the book lists it.
    pub fn group(self) -> &'static str {
        let prefix = &self.as_str()[..3];
        GROUPS.iter().find(|group| group.0 == prefix).map_or("Others", |group| group.1)
    }

    /// All that is known about it, as Markdown that also reads well in a terminal.
    pub fn explain(self) -> String {
        let CodeInfo { code, title, explanation, cause, cure, .. } = self.info();
        format!("{code}: {title}\n\n{explanation}\n\nLikely cause: {cause}\n\nCure: {cure}\n")
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Code {
    type Err = UnknownCode;

    /// Reads `F0302`, in upper or lower case.
    fn from_str(text: &str) -> Result<Self, UnknownCode> {
        let wanted = text.trim();
        let found = Code::ALL.iter().find(|code| code.as_str().eq_ignore_ascii_case(wanted));
        found.copied().ok_or_else(|| UnknownCode(wanted.chars().take(40).collect()))
    }
}

/// The page of the book that lists all codes, in Markdown. Each code is an anchor in lower case, as `#f0302`.
pub fn book_page() -> String {
    let mut page = String::from(
        "# Errors and warnings\n\n\
         Each message of Fluxline carries a code. The code keeps its meaning for ever, whatever the wording. \
         `fluxline explain F0302` prints the entry of a code in the terminal.\n\n\
         | Exit code | Meaning |\n|---|---|\n\
         | 0 | done; there may be warnings |\n\
         | 1 | the run failed (F09xx) |\n\
         | 2 | the input is wrong |\n\
         | 3 | a file cannot be read or written (F10xx) |\n",
    );
    for (prefix, heading) in GROUPS {
        page.push_str(&format!("\n## {heading}\n"));
        for code in Code::ALL.iter().filter(|code| code.as_str().starts_with(prefix)) {
            let CodeInfo { code, title, explanation, cause, cure, .. } = code.info();
            let anchor = code.to_ascii_lowercase();
            page.push_str(&format!(
                "\n### {code}: {title} {{#{anchor}}}\n\n{explanation}\n\n*Likely cause.* {cause}\n\n*Cure.* {cure}\n"
            ));
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_in_order() {
        for pair in Code::ALL.windows(2) {
            assert!(pair[0].as_str() < pair[1].as_str(), "{} before {}", pair[0], pair[1]);
            assert!(pair[0] < pair[1]);
        }
    }

    #[test]
    fn codes_have_a_letter_four_digits_and_a_known_group() {
        for &code in Code::ALL {
            let text = code.as_str();
            assert_eq!(text.len(), 5, "{text}");
            assert!(text[1..].bytes().all(|byte| byte.is_ascii_digit()), "{text}");
            assert_ne!(code.group(), "Others", "{text}");
            let expected = if text.starts_with('F') { Severity::Error } else { Severity::Warning };
            assert_eq!(code.info().severity, expected, "{text}");
        }
    }

    #[test]
    fn every_code_is_fully_described() {
        for &code in Code::ALL {
            let info = code.info();
            for text in [info.explanation, info.cause, info.cure] {
                assert!(text.len() > 5 && text.ends_with('.'), "{code}: {text:?}");
            }
            assert!(!info.title.is_empty() && !info.title.ends_with('.'), "{code}");
            assert!(code.explain().contains(info.cure));
        }
    }

    #[test]
    fn codes_are_read_back() {
        for &code in Code::ALL {
            assert_eq!(code.to_string().parse(), Ok(code));
            assert_eq!(code.as_str().to_lowercase().parse(), Ok(code));
        }
        assert_eq!("F0302".parse(), Ok(Code::WrongDimension));
        assert_eq!("F9999".parse::<Code>(), Err(UnknownCode("F9999".into())));
        assert!(Code::from_str("").is_err());
    }

    #[test]
    fn the_category_follows_from_the_group() {
        assert_eq!(Code::Diverged.category().exit_code(), 1);
        assert_eq!(Code::WrongDimension.category().exit_code(), 2);
        assert_eq!(Code::BadOverride.category().exit_code(), 2);
        assert_eq!(Code::DiskFull.category().exit_code(), 3);
    }

    #[test]
    fn the_book_page_holds_every_code_once() {
        let page = book_page();
        for code in Code::ALL {
            assert_eq!(page.matches(&format!("\n### {code}: ")).count(), 1, "{code}");
        }
        assert_eq!(page.matches("\n### ").count(), Code::ALL.len());
        assert_eq!(page.matches("\n## ").count(), GROUPS.len());
    }
}
