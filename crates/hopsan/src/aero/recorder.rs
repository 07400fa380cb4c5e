//! Flight recorder.

use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::Num;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[ComponentType::of::<FlightRecorder>()];

/// Takes the signals of a flight; in Hopsan it writes a file for a globe viewer.
///
/// Here it writes nothing: record the signals with the results instead.
#[component("hopsan.AeroFlightRecorder", s)]
pub struct FlightRecorder {
    /// – — longitude, in degrees [any]
    #[input(name = "longitude", default = 15.577)]
    pub longitude: f64,
    /// – — latitude, in degrees [any]
    #[input(name = "latitude", default = 58.401)]
    pub latitude: f64,
    /// h — altitude [m]
    #[input(name = "altitude", default = "0 m")]
    pub altitude: f64,
    /// φ — roll angle [rad]
    #[input(name = "phi", default = "0 rad")]
    pub roll: f64,
    /// θ — pitch angle [rad]
    #[input(name = "theta", default = "0 rad")]
    pub pitch: f64,
    /// ψ — heading [rad]
    #[input(name = "psi", default = "0 rad")]
    pub heading: f64,
    /// v — speed [m/s]
    #[input(name = "v", default = "0 m/s")]
    pub speed: f64,
    /// – — time between records [s]
    #[input(name = "dt", default = "1 s")]
    pub interval: f64,
    /// – — scale of the drawn vehicle along x [–]
    #[input(name = "scaleX", default = 1)]
    pub scale_x: f64,
    /// – — scale of the drawn vehicle along y [–]
    #[input(name = "scaleY", default = 1)]
    pub scale_y: f64,
    /// – — scale of the drawn vehicle along z [–]
    #[input(name = "scaleZ", default = 1)]
    pub scale_z: f64,
    /// – — kind of file: 0 flight path, 1 path on the ground, 2 vehicle [–]
    #[parameter(name = "filetype", default = 0)]
    pub file_kind: usize,
    /// – — folder for the file [–]
    #[parameter(name = "path", default = "")]
    pub path: String,
    /// – — file with the vehicle to draw [–]
    #[parameter(name = "daeModel", default = "")]
    pub vehicle: String,
}

impl Physics for FlightRecorder {
    const HAS_LAW: bool = false;
    const IS_IDLE: bool = true;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, _: &mut Step<'_, T>) {}
}
