import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { ADMIN_KEY, type GatewayProcess } from '#scripts/rig/gateway-process.ts'
import { waitUntil } from '#scripts/rig/wait-until.ts'
import { ApiClient, ApiError } from '#shared/client.ts'
import { createRandom, type Random } from '#shared/random.ts'
import { png } from '#shared/testing/images.ts'
import { toIso } from '#shared/time.ts'
import { drawingOf } from '../drawing.ts'
import { courseZone } from './course-zone.ts'
import { endedUnattended, isOverdue, mayShow, type Observation, Promised, type Switched } from './promised.ts'
import type { Uptime } from './uptime.ts'

const HOLES = [1, 2, 3, 4] as const
const SWITCH_MS = [1000, 8000] as const
const DRAWING_THOUSANDS = [1, 1, 1, 80] as const
const PHOTO_BYTES = 1_000_000
const CHANGES = ['switch', 'switch', 'switch', 'switch', 'rename', 'rename', 'drawing', 'photo'] as const
const GAP_MS = 50
/** Time until all overrides have ended: longer than any, plus one check. */
const ENDED_LIMIT_MS = 60_000
/** Length of a sample from the middle of a photo: the gateway strips data at its ends. */
const SAMPLE_BYTES = 1000
const CORNER_STEPS = 1e5

interface Drawing {
  attribution: string | null
  features: unknown
}

interface Photo {
  /** Latitude of its first corner, which identifies the photo. */
  lat: number
  sample: Buffer
}

/** Client that overrides zones, draws and uploads photos across all lives, and remembers the responses. */
export class Greenkeeper {
  changes = 0
  /** Overrides that ended while no gateway ran. */
  endedUnattended = 0
  /** Confirmed changes that are missing. */
  readonly gone: string[] = []
  /** Overrides that were still in effect after their end. */
  readonly overdue: string[] = []
  readonly #client: ApiClient
  readonly #uptime: Uptime
  readonly #random: Random = createRandom('greenkeeper', Date.now())
  readonly #switches = new Map<string, Promised<Switched>>()
  readonly #name = new Promised('mark 0')
  readonly #drawing = new Promised<Drawing>({ attribution: null, features: [] })
  readonly #photo = new Promised<Photo | null>(null)
  #bornAtMs = 0
  #checkedBornAtMs = 0
  #isEnding = false
  #ended: Promise<void> = Promise.resolve()

  constructor({ ports }: Pick<GatewayProcess, 'ports'>, uptime: Uptime) {
    this.#client = new ApiClient({ url: `http://127.0.0.1:${ports.http}`, apiKey: ADMIN_KEY })
    this.#uptime = uptime
  }

  /** Draws a fairway (off) and a green (on) for each hole, and a zone that is renamed now and then. */
  async start(): Promise<void> {
    const { features } = await this.#client.call('GET /zones')
    const more = HOLES.flatMap((hole) => [courseZone('fairway', hole, false), courseZone('green', hole, true)])
    for (const { id } of more) this.#switches.set(id, new Promised<Switched>(null))
    const mark = courseZone('mark', 0, true)
    await this.#client.call('PUT /zones', {
      headers: { 'if-match': '*' },
      body: { type: 'FeatureCollection', features: [...features, ...more, mark] },
    })
    this.#ended = this.#work()
  }

  /** Records that the previous gateway is dead, and another is about to be started. */
  expectLife(atMs: number): void {
    this.#bornAtMs = atMs
  }

  /** Makes no further changes; resolves when all overrides have ended, or should have. */
  async end(): Promise<void> {
    this.#isEnding = true
    await this.#ended
    this.#checkedBornAtMs = 0
    await this.#check()
    const isOver = async () => {
      await this.#check()
      return [...this.#switches.values()].every(({ possible: [shown] }) => shown === null)
    }
    if (!(await waitUntil(isOver, ENDED_LIMIT_MS, GAP_MS))) this.overdue.push('an override that never ends')
  }

  async #work(): Promise<void> {
    while (!this.#isEnding) {
      // without a gateway there is nothing to check; the state the last one left is checked before the next change
      await this.#check()
        .then(() => this.#change())
        .catch(() => undefined)
      await sleep(GAP_MS)
    }
  }

  async #check(): Promise<void> {
    const bornAtMs = this.#bornAtMs
    const askedAtMs = Date.now()
    const { features } = await this.#client.call('GET /zones')
    const observation = { bornAtMs, askedAtMs, answeredAtMs: Date.now(), uptime: this.#uptime }
    for (const { id, properties } of features) this.#judgeZone(`${id}`, properties, observation)
    if (features.length < this.#switches.size) this.gone.push('zones')
    if (this.#checkedBornAtMs === bornAtMs) return
    await this.#checkCourse()
    this.#checkedBornAtMs = bornAtMs
  }

  #judgeZone(id: string, shown: ShownZone, observation: Observation): void {
    if (id === 'mark' && !this.#name.settle(shown.name, (name) => name === shown.name))
      this.gone.push(`a name, now ${shown.name}`)
    const promised = this.#switches.get(id)
    if (promised === undefined) return
    const isOn = shown.enabled
    const until = shown.switched?.until
    const now: Switched = until == null ? null : { isOn, untilMs: Date.parse(until) }
    if (isOverdue(now, observation)) this.overdue.push(`${id} until ${until}`)
    if (now === null && promised.possible.length === 1 && endedUnattended(promised.possible[0] ?? null, observation))
      this.endedUnattended += 1
    if (!promised.settle(now, (each) => mayShow(each, now, observation)))
      this.gone.push(`an override of ${id}, now ${JSON.stringify(now)}`)
    if (now === null && isOn !== id.startsWith('green')) this.gone.push(`the drawn state of ${id}`)
  }

  async #checkCourse(): Promise<void> {
    const { attribution, features, photo } = await this.#client.call('GET /course')
    const shown = { attribution, features }
    if (!this.#drawing.settle(shown, (each) => isDeepStrictEqual(each, shown)))
      this.gone.push(`a drawing, now ${attribution}`)
    const image = photo && Buffer.from(await (await this.#client.download('GET /course/photo')).arrayBuffer())
    const steps = photo && stepsOf(photo.corners[0]?.lat ?? 0)
    const known = this.#photo.possible.find((each) => (each && stepsOf(each.lat)) === steps)
    if (known === undefined || (known !== null && image?.includes(known.sample) !== true))
      this.gone.push(`a photo, now ${JSON.stringify(photo)}`)
    else this.#photo.answered(known)
  }

  async #change(): Promise<void> {
    const n = ++this.changes
    switch (this.#random.pick(CHANGES)) {
      case 'switch':
        return this.#switch()
      case 'rename':
        return this.#rename(`mark ${n}`)
      case 'drawing':
        return this.#draw(`drawing ${n}`)
      case 'photo':
        return this.#placePhoto(28 + n / CORNER_STEPS)
    }
  }

  async #switch(): Promise<void> {
    const hole = this.#random.pick(HOLES)
    const enabled = this.#random.chance(0.5)
    const untilMs = Date.now() + this.#random.integer(...SWITCH_MS)
    const both = [`fairway-${hole}`, `green-${hole}`]
    const body = { enabled, until: toIso(untilMs) }
    await this.#ask(
      () => this.#client.call('POST /zones/switch', { body: { ...body, holes: [hole] } }),
      both.map((id) => keeps(this.#switches.get(id), { isOn: enabled, untilMs })),
    )
  }

  /** Renames a zone as the zone editor does: writes what was read, with one change, unless it changed meanwhile. */
  async #rename(name: string): Promise<void> {
    const response = await this.#client.download('GET /zones')
    const shown: { features: { id: string; properties: object }[] } = JSON.parse(await response.text())
    const features = shown.features.map((zone) =>
      zone.id === 'mark' ? { ...zone, properties: { ...zone.properties, name } } : zone,
    )
    const headers = { 'if-match': response.headers.get('etag') ?? '' }
    const body = { type: 'FeatureCollection' as const, features }
    await this.#ask(
      // the response of the GET is sent back
      () => this.#client.call('PUT /zones', { headers, body: body as never }),
      [keeps(this.#name, name)],
    )
  }

  async #draw(attribution: string): Promise<void> {
    const drawing = drawingOf(this.#random.pick(DRAWING_THOUSANDS), this.#random)
    await this.#ask(
      () => this.#client.call('PUT /course', { body: { ...drawing, attribution } }),
      [keeps(this.#drawing, { attribution, features: drawing.features })],
    )
  }

  async #placePhoto(lat: number): Promise<void> {
    const image = png({ weight: this.#random.integer(SAMPLE_BYTES * 4, PHOTO_BYTES) })
    const middle = Math.floor(image.size / 2)
    const sample = Buffer.from(await image.slice(middle, middle + SAMPLE_BYTES).arrayBuffer())
    const corners = `${lat},-81.1;${lat},-81;27,-81;27,-81.1`
    await this.#ask(
      () => this.#client.call('PUT /course/photo', { query: { corners }, body: image }),
      [keeps(this.#photo, { lat, sample })],
    )
  }

  /** Makes a request, and records the states that are possible afterwards. */
  async #ask(request: () => Promise<unknown>, all: readonly Keeping[]): Promise<void> {
    try {
      await request()
      for (const { answered } of all) answered()
    } catch (error) {
      const isRefused = error instanceof ApiError && error.status < 500
      if (!isRefused) for (const { unanswered } of all) unanswered()
      // expected: an override ended meanwhile and changed the zones, or its end had passed when the request arrived
      else if (error.status !== 412 && error.code !== 'invalid_field') this.gone.push(error.message)
    }
  }
}

interface ShownZone {
  name: string
  enabled: boolean
  switched: { until: string | null } | null
}

interface Keeping {
  answered(): void
  unanswered(): void
}

function keeps<Value>(promised: Promised<Value> | undefined, value: Value): Keeping {
  return {
    answered: () => promised?.answered(value),
    unanswered: () => promised?.unanswered(value),
  }
}

const stepsOf = (lat: number) => Math.round(lat * CORNER_STEPS)
