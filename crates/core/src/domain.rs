//! Physical domains: what flows, what pushes, and in which units.
//!
//! Every power port carries an effort and a flow whose product is power. Inside the engine a bond
//! joins one Q-port to one C-port, with the flow counted out of the Q-component into the
//! C-component and `effort = wave + impedance·flow`. What users see follows one rule per domain,
//! stated on [`Domain::sign_rule`].

/// The physical domain of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// Oil: pressure and volume flow.
    Hydraulic,
    /// Linear motion: force and velocity.
    Translational,
    /// Rotation: torque and angular velocity.
    Rotational,
    /// Electricity: voltage and current.
    Electrical,
    /// Gas: pressure and enthalpy flow.
    Pneumatic,
    /// Heat: temperature and heat flow.
    Thermal,
}

/// One variable of a port as users name it: `component.port.variable`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortVariable {
    /// Name in records and result files.
    pub name: &'static str,
    /// SI unit.
    pub unit: &'static str,
    /// Which number of the bond it shows.
    pub role: Role,
}

/// The numbers of a bond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Pressure, force, torque, voltage.
    Effort,
    /// Volume flow, velocity, angular velocity, current.
    Flow,
    /// Position or angle; mechanics only.
    Displacement,
    /// The wave that arrived from the line.
    Wave,
    /// The line's impedance.
    Impedance,
    /// Temperature of the oil in the line; hydraulics only.
    Temperature,
    /// The last number of the bond: dry friction, or what a convention keeps there.
    Dry,
}

macro_rules! variables {
    ($($role:ident $name:literal $unit:literal;)*) => {
        &[$(PortVariable { name: $name, unit: $unit, role: Role::$role }),*]
    };
}

impl Domain {
    /// All domains, for documentation.
    pub const ALL: [Domain; 6] = [
        Domain::Hydraulic,
        Domain::Translational,
        Domain::Rotational,
        Domain::Electrical,
        Domain::Pneumatic,
        Domain::Thermal,
    ];

    /// The domain in words.
    pub const fn name(self) -> &'static str {
        match self {
            Domain::Hydraulic => "hydraulic",
            Domain::Translational => "translational",
            Domain::Rotational => "rotational",
            Domain::Electrical => "electrical",
            Domain::Pneumatic => "pneumatic",
            Domain::Thermal => "thermal",
        }
    }

    /// The variables of a port in this domain: those recorded by default first.
    pub const fn variables(self) -> &'static [PortVariable] {
        match self {
            Domain::Hydraulic => variables! {
                Effort "pressure" "Pa"; Flow "flow" "m^3/s";
                Wave "wave" "Pa"; Impedance "impedance" "Pa*s/m^3"; Temperature "temperature" "K";
            },
            Domain::Translational => variables! {
                Effort "force" "N"; Flow "velocity" "m/s"; Displacement "position" "m";
                Wave "wave" "N"; Impedance "impedance" "N*s/m";
            },
            Domain::Rotational => variables! {
                Effort "torque" "N*m"; Flow "speed" "rad/s"; Displacement "angle" "rad";
                Wave "wave" "N*m"; Impedance "impedance" "N*m*s/rad";
            },
            Domain::Electrical => variables! {
                Effort "voltage" "V"; Flow "current" "A";
                Wave "wave" "V"; Impedance "impedance" "Ohm";
            },
            Domain::Pneumatic => variables! {
                Effort "pressure" "Pa"; Flow "enthalpy_flow" "W";
                Wave "wave" "Pa"; Impedance "impedance" "Pa/W";
            },
            Domain::Thermal => variables! {
                Effort "temperature" "K"; Flow "heat_flow" "W";
                Wave "wave" "K"; Impedance "impedance" "K/W";
            },
        }
    }

    /// The variables of a port as Hopsan names them, and where a bond keeps them.
    pub const fn hopsan_variables(self) -> &'static [PortVariable] {
        match self {
            Domain::Hydraulic => variables! {
                Flow "Flow" "m^3/s"; Effort "Pressure" "Pa"; Displacement "Temperature" "K";
                Wave "WaveVariable" "Pa"; Impedance "CharImpedance" "Pa*s/m^3"; Dry "HeatFlow" "W";
            },
            Domain::Translational => variables! {
                Flow "Velocity" "m/s"; Effort "Force" "N"; Displacement "Position" "m";
                Wave "WaveVariable" "N"; Impedance "CharImpedance" "N*s/m";
                Dry "EquivalentMass" "kg";
            },
            Domain::Rotational => variables! {
                Flow "AngularVelocity" "rad/s"; Effort "Torque" "N*m"; Displacement "Angle" "rad";
                Wave "WaveVariable" "N*m"; Impedance "CharImpedance" "N*m*s/rad";
                Dry "EquivalentInertia" "kg*m^2";
            },
            Domain::Electrical => variables! {
                Effort "Voltage" "V"; Flow "Current" "A";
                Wave "WaveVariable" "V"; Impedance "CharImpedance" "Ohm";
            },
            Domain::Pneumatic => variables! {
                Flow "EnergyFlow" "W"; Effort "Pressure" "Pa";
                Wave "WaveVariable" "Pa"; Impedance "CharImpedance" "Pa/W";
                Displacement "MassFlow" "kg/s"; Dry "Temperature" "K";
            },
            Domain::Thermal => variables! {
                Effort "Temperature" "K"; Flow "HeatFlow" "W";
                Wave "WaveVariable" "K"; Impedance "CharImpedance" "K/W";
            },
        }
    }

    /// Motion has a direction along an axis; everything else flows into a component.
    pub const fn is_mechanical(self) -> bool {
        matches!(self, Domain::Translational | Domain::Rotational)
    }

    /// The size of flow below which differences are rounding, for convergence tests.
    pub const fn small_flow(self) -> f64 {
        match self {
            Domain::Hydraulic => 1e-6,
            Domain::Translational => 1e-3,
            Domain::Rotational => 1e-1,
            Domain::Electrical => 1e-3,
            Domain::Pneumatic | Domain::Thermal => 1.0,
        }
    }

    /// The size of effort below which differences are rounding.
    pub const fn small_effort(self) -> f64 {
        match self {
            Domain::Hydraulic | Domain::Pneumatic => 1e5,
            _ => 1.0,
        }
    }

    /// The sign rule of recorded variables, for the book and `describe`.
    pub const fn sign_rule(self) -> &'static str {
        match self {
            Domain::Translational => {
                "velocity and position count along the component's own axis, from side a to side b; \
                 force is positive when it compresses"
            }
            Domain::Rotational => {
                "speed and angle count about the component's own axis, from side a to side b; \
                 torque is positive when it winds the ends up against each other"
            }
            _ => "flow is positive into the component",
        }
    }
}
