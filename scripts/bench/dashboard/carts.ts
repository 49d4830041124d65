import { createCourse } from '#scripts/commands/simulate/course/course.ts'
import { placeOn } from '#scripts/commands/simulate/course/path.ts'
import { toLatLong } from '#scripts/commands/simulate/course/plane.ts'
import { answerCalls } from '#scripts/rig/calls.ts'
import type { BenchDevice } from '#scripts/rig/gateway-api.ts'
import { FLEET, MqttSocket } from '#scripts/rig/load/mqtt-socket.ts'
import { waitUntil } from '#scripts/rig/wait-until.ts'
import { inParallel } from '#shared/in-parallel.ts'
import { publishPacket } from '#testing/mqtt-packets.ts'
import { CENTER, SEED } from './course.ts'

/** Process of carts that drive to and fro on the holes of a course, reporting once a second; one in five is parked. */

const CONNECTS_AT_ONCE = 32
const KEEP_ALIVE_S = 600
const LIMIT_MS = 60_000
const TICK_MS = 20
const PARKED_EVERY = 5
const SPEED_KMH = 14
const MPS = SPEED_KMH / 3.6
const PACKET_IDS = 60_000

const course = createCourse(SEED, CENTER)
let carts: { hardwareId: string; socket: MqttSocket }[] = []
let timer: NodeJS.Timeout | undefined
let sent = 0
let acknowledged = 0

async function connect(port: number, devices: readonly BenchDevice[]): Promise<void> {
  carts = await inParallel(devices, CONNECTS_AT_ONCE, (device) => connectOne(port, device))
}

async function connectOne(port: number, { hardwareId, password }: BenchDevice) {
  const { promise: ready, resolve, reject } = Promise.withResolvers<void>()
  const login = { clientId: hardwareId, username: hardwareId, password, keepaliveS: KEEP_ALIVE_S }
  const listener = {
    connack: () => resolve(),
    puback: () => {
      acknowledged += 1
    },
    closed: () => reject(new Error(`${hardwareId} was cut off`)),
  }
  const socket = new MqttSocket(port, login, listener, FLEET)
  await ready
  return { hardwareId, socket }
}

/** Starts the driving; resolves when each cart has reported twice. */
async function drive(): Promise<void> {
  clearInterval(timer)
  const startedAtMs = Date.now()
  let reported = 0
  timer = setInterval(() => {
    // an even rate: so many a second, whenever the timer fires
    const due = Math.floor(((Date.now() - startedAtMs) / 1000) * carts.length)
    for (; reported < due; reported++) report(reported % carts.length)
  }, TICK_MS)
  if (!(await waitUntil(() => acknowledged >= 2 * carts.length, LIMIT_MS)))
    throw new Error('the gateway received no report of some carts')
}

function report(index: number): void {
  const cart = carts[index]
  if (cart === undefined) return
  const nowMs = Date.now()
  const fields = { ts: nowMs, ...whereIs(index, nowMs), battery_voltage: 49.5, lock_status: 0 }
  sent += 1
  const id = (sent % PACKET_IDS) + 1
  cart.socket.write(publishPacket(`dev/${cart.hardwareId}/tlm`, JSON.stringify(fields), { id }))
}

function whereIs(index: number, nowMs: number): { lat: number; long: number; speed: number } {
  if (index % PARKED_EVERY === 0) {
    const bay = { xM: course.barn.xM + (index % 20) * 2, yM: course.barn.yM - 8 - Math.floor(index / 20) * 4 }
    return { ...toLatLong(CENTER, bay), speed: 0 }
  }
  const { fairway } = course.holes[index % course.holes.length] ?? fail()
  const alongM = ((nowMs / 1000) * MPS + index * 37) % (2 * fairway.lengthM)
  const { point, left } = placeOn(fairway, alongM < fairway.lengthM ? alongM : 2 * fairway.lengthM - alongM)
  const offsetM = (index % 7) * 8 - 24
  const place = { xM: point.xM + left.xM * offsetM, yM: point.yM + left.yM * offsetM }
  return { ...toLatLong(CENTER, place), speed: SPEED_KMH }
}

function fail(): never {
  throw new Error('the course has no holes')
}

const functions = answerCalls({
  connect,
  drive,
  counts: () => ({ sent, acknowledged }),
  /** Stops the reports; the carts stay connected. */
  halt: () => clearInterval(timer),
})

export type CartFunctions = typeof functions
