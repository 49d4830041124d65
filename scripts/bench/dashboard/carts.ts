import { createCourse } from '#scripts/commands/simulate/course/course.ts'
import { placeOn } from '#scripts/commands/simulate/course/path.ts'
import { toLatLong } from '#scripts/commands/simulate/course/plane.ts'
import { answerCalls } from '#scripts/rig/calls.ts'
import { SIMULATED_CENTER as CENTER } from '#scripts/rig/course.ts'
import { type BenchDevice, loginOf } from '#scripts/rig/gateway-api.ts'
import { FLEET, MqttSocket } from '#scripts/rig/load/mqtt-socket.ts'
import { mustReach } from '#scripts/rig/wait-until.ts'
import { inParallel } from '#shared/in-parallel.ts'
import { publishPacket } from '#testing/mqtt-packets.ts'
import { SEED } from './simulated-course.ts'

/** Process of carts that drive to and fro on the holes of a course, reporting once a second; one in five is parked. */

const CONNECTS_AT_ONCE = 32
const KEEP_ALIVE_S = 600
const LIMIT_MS = 60_000
const TICK_MS = 20
const PARKED_EVERY = 5
const SPEED_KMH = 14

const course = createCourse(SEED, CENTER)
let sent = 0
let acknowledged = 0

/** Connects the carts and starts them; resolves when each has reported twice. */
async function drive(port: number, devices: readonly BenchDevice[]): Promise<void> {
  const reports = await inParallel(devices, CONNECTS_AT_ONCE, (device) => connect(port, device))
  const startedAtMs = Date.now()
  setInterval(() => {
    // an even rate: so many a second, whenever the timer fires
    const due = Math.floor(((Date.now() - startedAtMs) / 1000) * reports.length)
    for (; sent < due; sent++) reports[sent % reports.length]?.(sent % reports.length)
  }, TICK_MS)
  const isReported = () => acknowledged >= 2 * reports.length
  await mustReach(isReported, LIMIT_MS, 'the gateway received no report of some carts')
}

/** Connects a cart; returns a function that reports where the cart of that index is. */
async function connect(port: number, device: BenchDevice): Promise<(index: number) => void> {
  const { promise: ready, resolve, reject } = Promise.withResolvers<void>()
  const { hardwareId } = device
  const login = { ...loginOf(device), keepaliveS: KEEP_ALIVE_S }
  const listener = {
    connack: () => resolve(),
    puback: () => {
      acknowledged += 1
    },
    closed: () => reject(new Error(`${hardwareId} was cut off`)),
  }
  const socket = new MqttSocket(port, login, listener, FLEET)
  await ready
  return (index) => {
    const nowMs = Date.now()
    const fields = { ts: nowMs, ...whereIs(index, nowMs), battery_voltage: 49.5, lock_status: 0 }
    const id = (sent % 60_000) + 1
    socket.write(publishPacket(`dev/${hardwareId}/tlm`, JSON.stringify(fields), { id }))
  }
}

function whereIs(index: number, nowMs: number): { lat: number; long: number; speed: number } {
  const { barn, holes } = course
  const fairway = holes[index % holes.length]?.fairway
  if (index % PARKED_EVERY === 0 || fairway === undefined) {
    const bay = { xM: barn.xM + (index % 20) * 2, yM: barn.yM - 8 - Math.floor(index / 20) * 4 }
    return { ...toLatLong(CENTER, bay), speed: 0 }
  }
  const alongM = ((nowMs / 3_600_000) * SPEED_KMH * 1000 + index * 37) % (2 * fairway.lengthM)
  const { point, left } = placeOn(fairway, Math.min(alongM, 2 * fairway.lengthM - alongM))
  const offsetM = (index % 7) * 8 - 24
  const place = { xM: point.xM + left.xM * offsetM, yM: point.yM + left.yM * offsetM }
  return { ...toLatLong(CENTER, place), speed: SPEED_KMH }
}

const functions = answerCalls({ drive, countSent: () => sent })

export type CartFunctions = typeof functions
