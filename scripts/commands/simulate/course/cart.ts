import { createRandom } from '#shared/random.ts'
import { Battery } from '../battery.ts'
import { bayOf, type Course } from './course.ts'
import { type Activity, type CartPlace, type LockAction, planDay } from './itinerary.ts'
import { Drive } from './motion.ts'
import type { Point } from './plane.ts'

const NO_ACTIONS: readonly LockAction[] = []

/** True state of a cart, which its devices observe with their own errors. */
export interface CartState {
  readonly position: Point
  readonly speedMps: number
  readonly voltageV: number
  readonly isLocked: boolean
  /** Hole being played, if any. */
  readonly hole: number | undefined
}

/** Cart that is simulated second by second. The same place and day always result in the same day. */
export class Cart implements CartState {
  readonly #course: Course
  readonly #place: CartPlace
  #activities: readonly Activity[] = []
  #next = 0
  #interruption: ((from: Point) => readonly Activity[]) | undefined
  #drive: Drive | undefined
  #restUntilSecond = 0
  #second = 0
  #position: Point
  #hole: number | undefined
  #isLocked = true
  #isHeld = false
  #isPluggedIn = true
  #battery = new Battery(1)

  constructor(course: Course, place: CartPlace) {
    this.#course = course
    this.#place = place
    this.#position = bayOf(course, place.index)
  }

  get position(): Point {
    return this.#position
  }

  get speedMps(): number {
    return this.#drive?.speedMps ?? 0
  }

  get voltageV(): number {
    return this.#battery.voltageV
  }

  get isLocked(): boolean {
    return this.#isLocked
  }

  get hole(): number | undefined {
    return this.#hole
  }

  /** State of charge, 0 to 1. */
  get charge(): number {
    return this.#battery.charge
  }

  /** Puts the cart into its bay, locked and charged, at 04:00 of that day. */
  startDay(day: number): void {
    this.#activities = planDay(this.#course, this.#place, day)
    this.#second = 0
    this.#stopInBay()
    this.#isLocked = true
    this.#isPluggedIn = true
    this.#battery = new Battery(createRandom(this.#place.seed, 'charge', this.#place.index, day).between(0.97, 1))
  }

  /** Locks or unlocks remotely: a cart locked while driving stops where it is until it is unlocked again. */
  turnLock(event: LockAction['event']): void {
    this.#isLocked = event === 'lock'
    this.#isHeld = this.#isLocked
  }

  /** Puts the cart into its bay, unlocked, as if just returned, to do only this for the rest of the day. */
  comeBack(activities: readonly Activity[]): void {
    this.#activities = activities
    this.#stopInBay()
    this.#isLocked = false
    this.#isPluggedIn = false
  }

  /** Inserts activities once the cart stands and is unlocked, from its position then, where they must end, too. */
  interrupt(activitiesFrom: (from: Point) => readonly Activity[]): void {
    this.#interruption = activitiesFrom
    if (this.#drive === undefined && !this.#isLocked) this.#restUntilSecond = this.#second
  }

  /** Sets the remaining charge of the battery, from 0 to 1. */
  drainTo(charge: number): void {
    this.#battery = new Battery(charge)
  }

  #stopInBay(): void {
    this.#next = 0
    this.#interruption = undefined
    this.#drive = undefined
    this.#restUntilSecond = 0
    this.#position = bayOf(this.#course, this.#place.index)
    this.#hole = undefined
    this.#isHeld = false
  }

  /** Advances by one second; returns the lock actions during it. */
  step(): readonly LockAction[] {
    this.#second += 1
    const speedBefore = this.speedMps
    const actions = this.#drive === undefined ? this.#rest() : this.#driveOn(this.#drive)
    this.#battery.stepOneSecond({
      speedMps: this.speedMps,
      speedChangeMps: this.speedMps - speedBefore,
      isAwake: !this.#isLocked,
      isPluggedIn: this.#isPluggedIn,
    })
    return actions
  }

  #driveOn(drive: Drive): readonly LockAction[] {
    drive.stepOneSecond(!this.#isHeld)
    this.#position = drive.position
    if (drive.hasArrived) this.#drive = undefined
    return NO_ACTIONS
  }

  #rest(): readonly LockAction[] {
    if (this.#second < this.#restUntilSecond) return NO_ACTIONS
    return this.#begin()
  }

  /** Starts the next activities, up to the first one that takes time. */
  #begin(): readonly LockAction[] {
    const actions: LockAction[] = []
    for (;;) {
      this.#beginInterruption()
      const activity = this.#activities[this.#next]
      if (activity === undefined) {
        this.#restUntilSecond = Number.POSITIVE_INFINITY
        return actions
      }
      this.#next += 1
      if (activity.kind === 'plug-in') this.#isPluggedIn = true
      else if (activity.kind === 'turn-lock') actions.push(...this.#turnAtCart(activity.action))
      else {
        this.#hole = activity.hole
        if (activity.kind === 'drive') this.#drive = new Drive(activity.path, activity.cruiseMps)
        else {
          this.#restUntilSecond = activity.kind === 'wait' ? this.#second + activity.seconds : activity.second
          if (this.#second >= this.#restUntilSecond) continue
        }
        return actions
      }
    }
  }

  #beginInterruption(): void {
    if (this.#interruption === undefined || this.#isLocked) return
    const first = this.#interruption(this.#position)
    this.#interruption = undefined
    this.#activities = [...first, ...this.#activities.slice(this.#next)]
    this.#next = 0
  }

  /** Skips an action if the lock was already set to that state remotely. */
  #turnAtCart(action: LockAction): readonly LockAction[] {
    if (this.#isLocked === (action.event === 'lock')) return NO_ACTIONS
    this.turnLock(action.event)
    this.#isHeld = false
    if (!this.#isLocked) this.#isPluggedIn = false
    return [action]
  }
}
