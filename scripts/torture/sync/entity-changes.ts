import type { ApiClient } from '#shared/client.ts'
import type { Random } from '#shared/random.ts'
import { png } from '#shared/testing/images.ts'

const LAT = 28
const LONG = -81
/** Width of a zone that contains half of the positions of the first devices. */
const WIDTH = 0.005
const HEIGHT = 0.035
const MAX_GROUPS = 4
const PHOTO_CORNERS = '28.1,-81.1;28.1,-81;28,-81;28,-81.1'
const MAX_USERS = 5
/** Size of a photo that is replicated in up to sixty chunks, one after the other. */
const PHOTO_BYTES = 3_000_000
/** Range of the positions in a drawing, in thousands: the larger half is replicated in chunks. */
const DRAWING_THOUSANDS = [60, 140] as const

const WAY_POINTS = 1000
const DEGREES = 0.1
const E7 = 1e7
const [WEST, SOUTH] = [-81.1, 28]

const CHANGES = ['name', 'group', 'member', 'config', 'layer', 'zones', 'user', 'command', 'command'] as const
const COURSE_CHANGES = ['photo', 'photo', 'drawing'] as const
type Change = (typeof CHANGES | typeof COURSE_CHANGES)[number]

/** Client that changes everything else replicated: devices, groups, configurations, zones, users, commands, course. */
export class EntityChanges {
  readonly #client: ApiClient
  readonly #hardwareIds: readonly string[]
  readonly #random: Random
  #made = 0

  constructor(client: ApiClient, hardwareIds: readonly string[], random: Random) {
    this.#client = client
    this.#hardwareIds = hardwareIds
    this.#random = random
  }

  /** Creates a group whose zones the devices cross all the time. */
  async createZones(): Promise<void> {
    const { group_id: groupId } = await this.#client.call('POST /groups', { body: { name: 'Course' } })
    await this.#putZones(groupId)
    for (const id of this.#hardwareIds.slice(0, 3)) {
      await this.#client.call('PUT /groups/{groupId}/devices/{id}', { path: { groupId, id } })
    }
  }

  /** Changes one thing, or tries to; its result is read from the gateway later. Returns its description. */
  async change(): Promise<string> {
    return this.#try(this.#random.pick(CHANGES))
  }

  /** Changes the photo or the drawing, which take many requests to replicate. */
  async changeCourse(): Promise<string> {
    return this.#try(this.#random.pick(COURSE_CHANGES))
  }

  /** Uploads a photo if the course has none. */
  async requirePhoto(): Promise<void> {
    const { photo } = await this.#client.call('GET /course')
    if (photo === null) await this.#putPhoto()
  }

  async #try(what: Change): Promise<Change> {
    await this.#carryOut(what).catch(() => undefined)
    return what
  }

  async #carryOut(what: Change): Promise<unknown> {
    const n = ++this.#made
    const client = this.#client
    const id = this.#hardwareIds[this.#random.integer(0, this.#hardwareIds.length - 1)] ?? ''
    switch (what) {
      case 'name':
        return client.call('PATCH /devices/{id}', { path: { id }, body: { name: `Cart ${n}` } })
      case 'group':
        return this.#changeGroups(n)
      case 'photo':
        if (n % 5 === 0) return client.call('DELETE /course/photo', {})
        return this.#putPhoto()
      case 'drawing':
        return client.call('PUT /course', {
          body: drawingOf(this.#random.integer(...DRAWING_THOUSANDS), this.#random),
        })
      case 'member': {
        const groupId = await this.#chooseGroup()
        return client.call('PUT /groups/{groupId}/devices/{id}', { path: { groupId, id } })
      }
      case 'config':
        if (n % 3 === 0) return client.call('DELETE /devices/{id}/config', { path: { id } })
        return client.call('PUT /devices/{id}/config', {
          path: { id },
          body: { realtime_enabled: n % 2 === 0 },
        })
      case 'layer': {
        const path = { groupId: await this.#chooseGroup(), type: 'teebox' }
        const body = { key_keyless_state: n % 2 === 0 ? 'key' : 'keyless' }
        return client.call('PUT /groups/{groupId}/config/{type}', { path, body })
      }
      case 'zones':
        return this.#putZones(await this.#chooseGroup())
      case 'user':
        return this.#changeUsers(n)
      case 'command':
        return client.call('POST /devices/{id}/commands', { path: { id }, body: { command: 'unlock' } })
    }
  }

  #putPhoto(): Promise<unknown> {
    return this.#client.call('PUT /course/photo', {
      query: { corners: PHOTO_CORNERS },
      body: png({ weight: this.#random.integer(1, PHOTO_BYTES) }),
    })
  }

  async #changeGroups(n: number): Promise<unknown> {
    const groups = await this.#client.call('GET /groups')
    const oldest = groups[1]?.group_id
    if (groups.length >= MAX_GROUPS && oldest !== undefined)
      return this.#client.call('DELETE /groups/{groupId}', { path: { groupId: oldest } })
    return this.#client.call('POST /groups', { body: { name: `Group ${n}` } })
  }

  async #changeUsers(n: number): Promise<unknown> {
    const users = await this.#client.call('GET /users')
    const other = users.find(({ role }) => role === 'user')
    if (users.length >= MAX_USERS && other !== undefined)
      return this.#client.call('DELETE /users/{id}', { path: { id: other.user_id } })
    return this.#client.call('POST /users', { body: { name: `User ${n}`, role: 'user' } })
  }

  async #chooseGroup(): Promise<number> {
    const groups = await this.#client.call('GET /groups')
    return groups[this.#random.integer(0, groups.length - 1)]?.group_id ?? 1
  }

  #putZones(groupId: number): Promise<unknown> {
    const west = LONG - WIDTH * this.#random.between(0.2, 1)
    const ring: [number, number][] = [
      [west, LAT],
      [LONG, LAT],
      [LONG, LAT + HEIGHT],
      [west, LAT + HEIGHT],
      [west, LAT],
    ]
    const zone = {
      type: 'Feature' as const,
      id: 'half',
      geometry: { type: 'Polygon' as const, coordinates: [ring] },
      properties: { name: 'Half', type: 'alert' as const },
    }
    const body = { type: 'FeatureCollection' as const, features: [zone] }
    return this.#client.call('PUT /groups/{groupId}/geofences', { path: { groupId }, body })
  }
}

/** Creates a drawing of that many thousand random positions, incompressible: some nine bytes each in the gateway. */
function drawingOf(thousands: number, random: Random): Record<string, unknown> {
  const place = (from: number) => Math.round((from + DEGREES * random.next()) * E7) / E7
  const features = Array.from({ length: thousands }, (_, way) => ({
    type: 'Feature',
    id: `way/${way + 1}`,
    properties: { golf: 'cartpath' },
    geometry: {
      type: 'LineString',
      coordinates: Array.from({ length: WAY_POINTS }, () => [place(WEST), place(SOUTH)]),
    },
  }))
  return { type: 'FeatureCollection', features }
}
