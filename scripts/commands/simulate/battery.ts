const CAPACITY_AH = 105
const INNER_OHM = 0.028
const POLARISATION_OHM = 0.012
const POLARISATION_S = 45
/** Share of a difference that is left after one second; computed once because every second of every cart needs it. */
const KEPT_PER_SECOND = Math.exp(-1 / POLARISATION_S)
const IDLE_A = 1.5
const CHARGE_A = 18
const CHARGE_RISE_V = 5.5
const FLOAT_RISE_V = 2.2
const ROLLING_N = 210
const MASS_KG = 620
const EFFICIENCY = 0.75
const NOMINAL_V = 48
const RECUPERATION = 0.3

/** Load on the battery during one second. */
export interface Load {
  readonly speedMps: number
  /** Change of speed in the second; braking recovers a little energy. */
  readonly speedChangeMps: number
  readonly isAwake: boolean
  readonly isPluggedIn: boolean
}

/**
 * 48 V lead-acid battery: the voltage sags immediately under load, sags further while the load lasts, recovers at rest
 * in about a minute, falls over the day and rises while the charger is connected.
 */
export class Battery {
  #charge: number
  /** Effect of lasting current on the voltage; negative under load, positive at the charger. */
  #shiftV = 0
  #currentA = 0

  /** `charge` is the state of charge, 0 to 1. */
  constructor(charge: number) {
    this.#charge = charge
  }

  get charge(): number {
    return this.#charge
  }

  /** Current voltage at the terminals. */
  get voltageV(): number {
    return 46.9 + 4.1 * this.#charge + this.#shiftV - this.#currentA * INNER_OHM
  }

  stepOneSecond(load: Load): void {
    this.#currentA = load.isPluggedIn ? -this.#chargingA() : drivingA(load)
    this.#charge = Math.min(1, Math.max(0, this.#charge - this.#currentA / 3600 / CAPACITY_AH))
    const targetV = load.isPluggedIn ? this.#chargingRiseV() : -this.#currentA * POLARISATION_OHM
    this.#shiftV += (targetV - this.#shiftV) * (1 - KEPT_PER_SECOND)
  }

  /** Constant until the battery is nearly full, then decreasing. */
  #chargingA(): number {
    return this.#charge < 0.85 ? CHARGE_A : Math.max(0.3, (CHARGE_A * (1 - this.#charge)) / 0.15)
  }

  #chargingRiseV(): number {
    return this.#charge < 0.995 ? CHARGE_RISE_V * (0.6 + 0.4 * this.#charge) : FLOAT_RISE_V
  }
}

function drivingA(load: Load): number {
  const idleA = load.isAwake ? IDLE_A : 0.05
  if (load.speedMps === 0) return idleA
  const inertiaN = MASS_KG * load.speedChangeMps
  const forceN = ROLLING_N + inertiaN
  const powerW = load.speedMps * (forceN > 0 ? forceN / EFFICIENCY : forceN * RECUPERATION)
  return idleA + powerW / NOMINAL_V
}
