import { createHash } from 'node:crypto'
import { createRandom, type Random } from '#shared/random.ts'
import { png } from '#shared/testing/images.ts'
import type { Bottle, Check, Finding, Part } from '../bottle.ts'
import type { Entry } from '../plan.ts'

/** Bytes from the middle of a photo, by which it is known: the gateway takes away data at its ends. */
const SAMPLE_BYTES = 64
const WAY_POINTS = 1_000

interface Way {
  readonly id: string
  readonly geometry: { readonly coordinates: unknown }
}

interface Zone {
  readonly id: string
  readonly geometry: { readonly coordinates: readonly [readonly unknown[]] }
}

/** Values that the gateway may show: more than one after requests without a response. */
type Possible = string[]

/** Draws the map of the course and uploads its photo; both are in many rows, and each is complete or the one before. */
export class Greenkeeper implements Part {
  readonly checks: readonly Check[]
  readonly #bottle: Bottle
  readonly #random: Random
  #maps: Possible = ['none']
  #photos: Possible = ['none']
  /** State of the course at the last comparison. */
  #compared = ''

  constructor(bottle: Bottle) {
    this.#bottle = bottle
    this.#random = createRandom(bottle.plan.seed, 'greenkeeper')
    const claim = 'the map and the photo of the course are those of the last request with a response, and complete'
    this.checks = [{ number: 53, claim, when: 'look', find: () => this.#find() }]
  }

  async perform(entry: Entry): Promise<void> {
    if (entry.kind === 'map') await this.#draw(entry.ways)
    if (entry.kind === 'photo') await this.#takePhoto(entry.bytes)
    if (entry.kind === 'redraw') await this.#redraw()
  }

  /** Draws the edge of the barn with other corners and the same area: nothing changes for a cart in it. */
  async #redraw(): Promise<void> {
    const answer = await this.#bottle.ask('GET', '/zones')
    if (answer === null) return
    const features = answer.body.features.map((feature: Zone) =>
      feature.id === 'barn' ? withOtherStart(feature) : feature,
    )
    await this.#put('/zones', { type: 'FeatureCollection', features })
    this.#bottle.barnDrawnAtMs = this.#bottle.time.nowMs
  }

  async #draw(ways: number): Promise<void> {
    const features = Array.from({ length: ways }, (_, way) => ({
      type: 'Feature',
      id: `way/${way + 1}`,
      properties: { golf: 'cartpath' },
      geometry: {
        type: 'LineString',
        coordinates: Array.from({ length: WAY_POINTS }, () => [this.#place(8.6), this.#place(50.1)]),
      },
    }))
    const answer = await this.#put('/course', { type: 'FeatureCollection', features })
    this.#maps = possibleAfter(this.#maps, sumOf(features), answer)
  }

  async #takePhoto(weight: number): Promise<void> {
    const image = Buffer.from(await png({ weight }).arrayBuffer())
    const sample = image.toString('latin1', image.length / 2, image.length / 2 + SAMPLE_BYTES)
    const [west, south] = [this.#place(8.6), this.#place(50.1)]
    const corners = `${south + 0.1},${west};${south + 0.1},${west + 0.1};${south},${west + 0.1};${south},${west}`
    const answer = await this.#put(`/course/photo?corners=${corners}`, image)
    this.#photos = possibleAfter(this.#photos, sample, answer)
  }

  /** Returns true if it was done, false if that is unknown. */
  async #put(path: string, body: unknown): Promise<boolean> {
    const answer = await this.#bottle.ask('PUT', path, body)
    if (answer !== null && answer.status >= 300)
      this.#bottle.report(53, { is: `${path}: ${answer.status} ${answer.body.code}`, expected: 'stored' })
    return answer !== null
  }

  async #find(): Promise<Finding[]> {
    const { life, restores } = this.#bottle
    const state = JSON.stringify([life.startedAtMs, restores.length, this.#maps, this.#photos])
    // nothing can have changed it
    if (state === this.#compared) return []
    const [map, photo] = [await this.#bottle.ask('GET', '/course'), await this.#bottle.ask('GET', '/course/photo')]
    if (map === null || photo === null) return []
    const isRestored = !this.#compared.startsWith(`[${life.startedAtMs},`) && restores.length > 0
    const shownMap = map.body.features.length === 0 ? 'none' : sumOf(map.body.features)
    const shownPhoto = photo.status === 404 ? 'none' : this.#photos.find((one) => photo.body.includes(one))
    const found: Finding[] = []
    // a restored copy has an earlier one
    if (!isRestored && !this.#maps.includes(shownMap))
      found.push({ subject: 'map', is: `${map.body.features.length} ways`, expected: 'the map that was stored' })
    if (!isRestored && (shownPhoto === undefined || !this.#photos.includes(shownPhoto)))
      found.push({ subject: 'photo', is: `${photo.status}, another one`, expected: 'the photo that was stored' })
    this.#maps = [shownMap]
    if (shownPhoto !== undefined) this.#photos = [shownPhoto]
    this.#compared = JSON.stringify([life.startedAtMs, restores.length, this.#maps, this.#photos])
    return found
  }

  #place(from: number): number {
    return Math.round((from + this.#random.next() / 10) * 1e7) / 1e7
  }
}

function possibleAfter(before: Possible, value: string, isKnown: boolean): Possible {
  return isKnown ? [value] : [...before, value]
}

function sumOf(features: readonly Way[]): string {
  const ways = features.map(({ id, geometry: { coordinates } }) => [id, coordinates])
  return createHash('sha256').update(JSON.stringify(ways)).digest('hex')
}

/** A zone whose ring begins at its next corner. */
function withOtherStart(zone: Zone): Zone {
  const [, ...corners] = zone.geometry.coordinates[0]
  return { ...zone, geometry: { ...zone.geometry, coordinates: [[...corners, corners[0]]] } }
}
