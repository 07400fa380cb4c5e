"""Hydrostatic transmission.

Pump      J_p·dω_p/dt = k·(ω_e·t − θ_p) − ε·D_p·Δp − B_p·ω_p − C_p·|Δp|,  q = ε·D_p·ω_p − G_p·Δp
Motor     J_m·dω_m/dt = D_m·Δp − B_m·ω_m − C_m·|Δp| − k·(θ_m − θ_f),  q = D_m·ω_m + G_m·Δp
Flywheel  J_f·dω_f/dt = k·(θ_m − θ_f) − b·ω_f
Sides     dp/dt = β/V·Σq, with charge pressure through check valves and crosswise relief valves

Losses from efficiencies at the nominal point: pump G = D·ω_n·(1 − η_v)/Δp_n and friction
D·Δp_n·(1/η − 1); motor G = D·ω_n·(1/η_v − 1)/Δp_n and friction D·Δp_n·(1 − η); half of the friction
grows with speed (B), half with pressure (C).
"""

import math

import numpy as np
from common import BAR, CM3_PER_REV, LITRE_PER_MINUTE, RPM
from common import agreement, integrate, orifice, write

DENSITY, VISCOSITY, BULK = 870.0, 30e-6, 1.2e9
ENGINE = 2000 * RPM
PUMP, MOTOR = 45 * CM3_PER_REV, 60 * CM3_PER_REV
NOMINAL = 300 * BAR
PUMP_LEAK = PUMP * 2000 * RPM * (1 - 0.95) / NOMINAL
PUMP_FRICTION = PUMP * NOMINAL * (1 / 0.93 - 1)
PUMP_VISCOUS, PUMP_DRY = 0.5 * PUMP_FRICTION / (2000 * RPM), 0.5 * PUMP_FRICTION / NOMINAL
MOTOR_LEAK = MOTOR * 1500 * RPM * (1 / 0.95 - 1) / NOMINAL
MOTOR_FRICTION = MOTOR * NOMINAL * (1 - 0.93)
MOTOR_VISCOUS, MOTOR_DRY = 0.5 * MOTOR_FRICTION / (1500 * RPM), 0.5 * MOTOR_FRICTION / NOMINAL
STIFFNESS = 2e4
PUMP_INERTIA, MOTOR_INERTIA, FLYWHEEL, BEARING = 0.004, 0.005, 2.0, 0.05
VOLUME = 0.6e-3
CHARGE = 20 * BAR
CHECK = 40 * LITRE_PER_MINUTE / math.sqrt(5 * BAR)
RELIEF = 5 * LITRE_PER_MINUTE / BAR

TABLE = np.array([[0, 0.1], [0.5, 0.1], [2, 0.8], [3.5, 0.8], [5, 0.1], [6, 0.1]])


def check(drop):
    opening = min(max((drop - 0.5 * BAR) / (0.5 * BAR), 0.0), 1.0)
    return orifice(CHECK * opening, drop, DENSITY, VISCOSITY)


def relief(drop):
    return RELIEF * max(drop - 350 * BAR, 0.0)


def rates(t, y):
    # shafts as twists, so that angles do not grow
    a, b, pump_twist, pump, motor, motor_twist, flywheel = y
    setting = np.interp(t, TABLE[:, 0], TABLE[:, 1])
    drop = a - b
    across = relief(a - b) - relief(b - a)
    pumped = setting * PUMP * pump - PUMP_LEAK * drop
    taken = MOTOR * motor + MOTOR_LEAK * drop
    pump_torque = setting * PUMP * drop + PUMP_VISCOUS * pump + PUMP_DRY * abs(drop)
    motor_torque = MOTOR * drop - MOTOR_VISCOUS * motor - MOTOR_DRY * abs(drop)
    return [
        BULK / VOLUME * (pumped - taken - across + check(CHARGE - a)),
        BULK / VOLUME * (taken - pumped + across + check(CHARGE - b)),
        ENGINE - pump,
        (STIFFNESS * pump_twist - pump_torque) / PUMP_INERTIA,
        (motor_torque - STIFFNESS * motor_twist) / MOTOR_INERTIA,
        motor - flywheel,
        (STIFFNESS * motor_twist - BEARING * flywheel) / FLYWHEEL,
    ]


def main():
    scale = np.array([1e7, 1e7, 1e-3, 100.0, 100.0, 1e-3, 100.0])
    # Balance: no oil enters or leaves, so the mean pressure stays what it is at the start.
    guess = [30 * BAR, 30 * BAR, 0.0, ENGINE, 15.0, 0.0, 15.0]
    rest = integrate(lambda t, y: rates(0.0, y), guess, [0.0, 300.0], 1e-11 * scale)[-1]
    print("balance", rest)
    times = np.linspace(0, 6, 241)
    breaks = TABLE[1:-1, 0]
    result = integrate(rates, rest, times, 1e-11 * scale, breaks)
    coarse = integrate(rates, rest, times, 1e-9 * scale, breaks, relative=1e-8)
    print("own error", agreement(coarse, result))
    assert result[:, 4].min() > 0, "the motor must not stand still: dry friction"
    header = ["t", "flywheel.speed", "motor.speed", "pump.outlet.pressure", "pump.inlet.pressure"]
    write("transmission", header, [times, *result[:, [6, 4, 0, 1]].T])


main()
