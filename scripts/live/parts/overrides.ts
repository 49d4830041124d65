import type { Bottle, Check, Finding, Part } from '../bottle.ts'
import { HOLE_SPOTS, toDegrees } from '../model/ground.ts'
import { localToMs, nextDay, toLocal } from '../model/local-time.ts'
import { LiveScreen } from '../model/screen.ts'
import type { Entry, OverrideEntry } from '../plan.ts'
import { MQTT_PORT } from '../world/gateway-life.ts'
import { running } from '../world/virtual-time.ts'

const SCREENS = 3
const HOLES = [3, 7, 12]
const HALF_M = 15
const CLOSES_MINUTE = 21 * 60 + 30
/** Tolerance of ends and messages. */
const SOON_MS = 5_000
const EXEMPT_TYPES = ['stop', 'boundary']

interface Override {
  /** True if a response did not come, so that it may apply or not. */
  isUnsure: boolean
  sinceMs: number
  untilMs: number
}

interface LiveRecall {
  readonly text: string
  readonly endText: string
  readonly sinceMs: number
  /** Infinite while it is active. */
  endMs: number
}

/** Staff switch zones on, exempt carts and recall all carts for a while; screens in carts show it. */
export class Overrides implements Part {
  readonly checks: readonly Check[]
  readonly #bottle: Bottle
  /** Zones that are on for a while, and carts that are exempt, by their path. */
  readonly #overrides = new Map<string, Override>()
  readonly #recalls: LiveRecall[] = []
  #isRecallUnsure = false
  readonly #found: Finding[] = []
  #count = 0

  constructor(bottle: Bottle) {
    this.#bottle = bottle
    const find = async () => {
      await this.#compareNow((path) => bottle.ask('GET', path))
      this.#compareMessages()
      return this.#found.splice(0)
    }
    const claim = 'zone switches, exemptions and recalls end when announced, and each screen is notified once'
    this.checks = [{ number: 47, claim, when: 'look', find }]
  }

  async setUp(): Promise<void> {
    const { time } = this.#bottle
    const { features } = await this.#bottle.set('GET', '/zones', undefined)
    await this.#bottle.set('PUT', '/zones', {
      type: 'FeatureCollection',
      features: [...features, ...HOLES.map(pathOf)],
    })
    for (let number = 1; number <= SCREENS; number++) {
      const body = { hardware_id: `screen-${number}`, device_type: 'cartcaddie' }
      const { mqtt } = await this.#bottle.set('POST', '/devices', body)
      const now = () => time.nowMs
      this.#bottle.screens.push(new LiveScreen({ number, password: mqtt.password, port: MQTT_PORT, now }))
    }
  }

  start(): void {
    for (const screen of this.#bottle.screens) running.run(screen.program, () => screen.goOnline())
  }

  async perform(entry: Entry): Promise<void> {
    if (entry.kind === 'screen') {
      const screen = this.#bottle.screens[entry.screen]
      if (screen === undefined) return
      running.run(screen.program, () => {
        screen.goOffline()
        setTimeout(() => screen.goOnline(), entry.offMs)
      })
    } else if (!this.#bottle.life.isRunning) return
    else if (entry.kind === 'switch') await this.#switch(entry)
    else if (entry.kind === 'exempt') await this.#exempt(entry)
    else if (entry.kind === 'recall') await this.#recall(entry.isBegin)
  }

  async #switch({ zones, forMs, by }: Extract<OverrideEntry, { kind: 'switch' }>): Promise<void> {
    const holes = zones.map((i) => HOLES[i] ?? 3)
    const ids = holes.map((hole) => `path-${hole}`)
    const chosen = by === 'holes' ? { holes } : by === 'ids' ? { zone_ids: ids } : { types: ['alert'] }
    const switched = by === 'types' ? HOLES.map((hole) => `path-${hole}`) : ids
    const isEnabled = forMs !== 0
    await this.#set(switched, forMs === 0 ? null : forMs, (until) =>
      this.#bottle.ask('POST', '/zones/switch', { ...chosen, enabled: isEnabled, ...until }),
    )
    if (isEnabled) return
    // off is what they are without an override, whether it is over or not
    for (const id of switched) this.#overrides.delete(id)
  }

  async #exempt({ screen, forMs }: Extract<OverrideEntry, { kind: 'exempt' }>): Promise<void> {
    const path = `/carts/screen-${screen + 1}`
    await this.#set([path], forMs, (until) => {
      const exempt = forMs === 0 ? null : { zone_types: EXEMPT_TYPES, why: 'a golfer', ...until }
      return this.#bottle.ask('PATCH', path, { exempt })
    })
    if (forMs === 0 && this.#overrides.get(path)?.isUnsure === false) this.#overrides.delete(path)
  }

  /** Sets overrides for some time, or until closing. */
  async #set(
    keys: readonly string[],
    forMs: number | null,
    ask: (until: { until?: string }) => ReturnType<Bottle['ask']>,
  ): Promise<void> {
    const { time } = this.#bottle
    const sinceMs = time.nowMs
    const untilMs = forMs === null ? nextClosingMs(sinceMs) : sinceMs + forMs
    const isClockWrong = this.#bottle.wasClockWrong(sinceMs)
    const answer = await ask(forMs === null || forMs === 0 ? {} : { until: new Date(untilMs).toISOString() })
    if (answer !== null && answer.status >= 300) {
      this.#wrong(keys[0] ?? '', `${answer.status} ${answer.body.code}`, 'done')
      return
    }
    // the end of the day by a wrong clock may be in months, and stays what it is
    const override = isClockWrong
      ? { isUnsure: true, sinceMs: time.nowMs, untilMs: Number.POSITIVE_INFINITY }
      : { isUnsure: answer === null, sinceMs: time.nowMs, untilMs }
    for (const key of keys) {
      // without a response the one before may still apply
      const beforeMs = override.isUnsure ? (this.#overrides.get(key)?.untilMs ?? 0) : 0
      this.#overrides.set(key, { ...override, untilMs: Math.max(override.untilMs, beforeMs) })
    }
    if (isClockWrong) return
    // just before and after its end
    for (const atMs of [untilMs - 1_000, untilMs + SOON_MS])
      if (atMs > time.nowMs) setTimeout(() => this.#compareNow((path) => this.#read(path)), atMs - time.nowMs)
  }

  async #recall(isBegin: boolean): Promise<void> {
    const { time } = this.#bottle
    await this.#learnRecall()
    this.#compareMessages()
    const last = this.#recalls.at(-1)
    const isActive = last?.endMs === Number.POSITIVE_INFINITY
    const number = ++this.#count
    const [text, endText] = [`Storm ${number}`, last === undefined ? '' : `Over ${last.text}`]
    const sinceMs = time.nowMs
    const answer = await this.#bottle.ask(isBegin ? 'POST' : 'DELETE', '/recall', { text: isBegin ? text : endText })
    if (answer === null) this.#isRecallUnsure = true
    const expected = isBegin ? (isActive ? 409 : 201) : isActive ? 200 : 404
    if (answer !== null && answer.status !== expected)
      this.#wrong('recall', `${isBegin ? 'begin' : 'end'}: ${answer.status}`, `${expected}`)
    if (isBegin && !isActive)
      this.#recalls.push({ text, endText: `Over ${text}`, sinceMs, endMs: Number.POSITIVE_INFINITY })
    if (!isBegin && isActive && last !== undefined) last.endMs = time.nowMs
  }

  /** Learns whether a recall began or ended before a kill that left its request without a response. */
  async #learnRecall(): Promise<void> {
    if (!this.#isRecallUnsure) return
    const answer = await this.#bottle.ask('GET', '/recall')
    const last = this.#recalls.at(-1)
    if (answer === null || last === undefined) return
    this.#isRecallUnsure = false
    const text = answer.body.active?.text
    if (text === last.text) last.endMs = Number.POSITIVE_INFINITY
    else if (last.endMs === Number.POSITIVE_INFINITY) this.#recalls.pop()
  }

  /** Reads outside of the order of entries; null if the gateway is down or dies. */
  async #read(path: string): ReturnType<Bottle['ask']> {
    const { life } = this.#bottle
    if (!life.isRunning) return null
    return life.request('GET', path).catch(() => null)
  }

  async #compareNow(read: (path: string) => ReturnType<Bottle['ask']>): Promise<void> {
    const { time, life } = this.#bottle
    const zones = await read('/zones')
    if (zones === null) return
    for (const { id, properties } of zones.body.features)
      if (id.startsWith('path-'))
        this.#compare(id, properties.enabled, properties.switched === null ? null : properties.switched.until)
    for (const { hardwareId, exemptTypes, connectedMs } of this.#bottle.screens) {
      const path = `/carts/${hardwareId}`
      const cart = await read(path)
      if (cart === null) return
      const { exempt } = cart.body
      const isOn = this.#compare(path, exempt !== null, exempt?.until ?? null)
      const isCalm = Math.min(connectedMs, time.nowMs - life.startedAtMs) > 2 * SOON_MS
      if (isOn === undefined || !isCalm || this.#isNear(path)) continue
      const expected = isOn ? EXEMPT_TYPES.join() : ''
      if (exemptTypes.join() !== expected) this.#wrong(hardwareId, `zone_exempt ${exemptTypes.join()}`, expected)
    }
    const recall = await read('/recall')
    const last = this.#recalls.at(-1)
    if (recall === null || last === undefined || this.#isRecallUnsure) return
    const is = recall.body.active?.text ?? null
    const expected = last.endMs === Number.POSITIVE_INFINITY ? last.text : null
    if (is !== expected) this.#wrong('recall', `${is}`, `${expected}`)
  }

  /** Compares an override; returns whether it applies, undefined if that is not known. */
  #compare(key: string, isOn: boolean, until: string | null): boolean | undefined {
    const { nowMs } = this.#bottle.time
    const override = this.#overrides.get(key)
    const isOver = override === undefined || nowMs >= override.untilMs
    // a clock ahead ends it
    const isUnsure = override?.isUnsure || this.#bottle.wasClockWrong(override?.sinceMs ?? nowMs)
    const sinceOverMs = nowMs - Math.max(override?.untilMs ?? 0, this.#bottle.life.startedAtMs)
    if (nowMs < this.#bottle.writesSinceMs + SOON_MS || (isUnsure && !isOver)) return undefined
    if (isOver && sinceOverMs < SOON_MS) return undefined
    const untilIso = isOver ? null : new Date(override.untilMs).toISOString()
    // a zone that was switched off keeps the end of that
    const isSame = isOver ? !isOn : isOn && until === untilIso
    if (!isSame) this.#wrong(key, `${isOn ? 'on' : 'off'} until ${until}`, isOver ? 'off' : `on until ${untilIso}`)
    return !isOver
  }

  /** True if an override has just begun or ended. */
  #isNear(key: string): boolean {
    const { nowMs } = this.#bottle.time
    const { sinceMs = 0, untilMs = 0 } = this.#overrides.get(key) ?? {}
    return [sinceMs, untilMs].some((atMs) => Math.abs(nowMs - atMs) < 2 * SOON_MS)
  }

  /** Compares the messages of each recall on each screen with what its connections must have got. */
  #compareMessages(): void {
    const { time, life, writesSinceMs } = this.#bottle
    const calmMs = time.nowMs - Math.max(life.startedAtMs, writesSinceMs)
    for (const { hardwareId, messages, connections, connectedMs } of this.#bottle.screens)
      for (const { text, endText, sinceMs, endMs } of this.#recalls.slice(-2)) {
        const calls = messages.filter((one) => one.text === text)
        const ends = messages.filter((one) => one.text === endText)
        const wrong = (is: string, expected: string) => this.#wrong(hardwareId, `${text}: ${is}`, expected)
        for (const one of [calls, ends]) {
          const keys = new Set(one.map(({ connection }) => connection))
          if (keys.size < one.length) wrong(`${one.length} messages on ${keys.size} connections`, 'one on each')
        }
        const late = calls.filter(({ atMs }) => atMs > endMs + SOON_MS)
        if (late.length > 0 && !this.#isRecallUnsure) wrong(`a message ${late[0]?.id} after the end`, 'none')
        if (new Set(ends.map(({ id }) => id)).size > 1) wrong('two messages of the end', 'one')
        if (this.#isRecallUnsure || Math.min(calmMs, connectedMs) < 2 * SOON_MS) continue
        const isActive = endMs === Number.POSITIVE_INFINITY
        const onThis = calls.filter(({ connection }) => connection === connections).length
        if (isActive && time.nowMs - sinceMs > 2 * SOON_MS && onThis !== 1) wrong(`${onThis} messages`, '1')
        if (!isActive && time.nowMs - endMs > 2 * SOON_MS && calls.length > 0 && ends.length === 0)
          wrong('no message of the end', '1')
      }
  }

  #wrong(subject: string, is: string, expected: string): void {
    this.#found.push({ subject, is, expected })
  }
}

/** Zone of a hole that is off unless staff switch it on. */
function pathOf(hole: number): object {
  const { x, y } = HOLE_SPOTS[hole - 1] ?? { x: 0, y: 0 }
  const corners = [
    [-1, -1],
    [1, -1],
    [1, 1],
    [-1, 1],
    [-1, -1],
  ] as const
  const ring = corners.map(([east, north]) => {
    const { lat, long } = toDegrees({ x: x + east * HALF_M, y: y + north * HALF_M })
    return [long, lat]
  })
  const id = `path-${hole}`
  const properties = { type: 'alert', name: id, hole, enabled: false }
  return { type: 'Feature', id, properties, geometry: { type: 'Polygon', coordinates: [ring] } }
}

function nextClosingMs(atMs: number): number {
  const { date } = toLocal(atMs)
  const closesMs = localToMs(date, CLOSES_MINUTE)
  return closesMs > atMs ? closesMs : localToMs(nextDay(date), CLOSES_MINUTE)
}
