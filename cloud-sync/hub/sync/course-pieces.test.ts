import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, type TestContext, test } from 'node:test'
import { countStoredBytes } from '#hub/store/stored-bytes.ts'
import { LONG_SUITE_KINDS } from '#hub/testing/databases.ts'
import { openHub, type TestHub } from '#hub/testing/open-hub.ts'
import { ADMIN_KEY, People } from '#hub/testing/people.ts'
import { rowsContent, type SiteClient } from '#hub/testing/site-client.ts'
import type { SyncPart } from '#shared/wire/replication/sync.ts'

const PIECE_BYTES = 49_152
const PIECES = 5
const PLACE = { lat: 28.4, long: -81.6 }

interface Row {
  table: string
  key: string
  body: Record<string, unknown> | null
}

/** Photo as sent by a gateway: the course row, and the chunks in order. */
interface Photo {
  image: Buffer
  course: Row
  pieces: Row[]
}

function newPhoto(version: number, image = randomBytes(PIECE_BYTES * (PIECES - 1) + 7)): Photo {
  const hash = randomBytes(16).toString('hex')
  const pieces = Array.from({ length: Math.ceil(image.length / PIECE_BYTES) }, (_, number) => {
    const bytes = image.subarray(number * PIECE_BYTES, (number + 1) * PIECE_BYTES).toString('base64')
    const key = `${hash}/${String(number).padStart(4, '0')}`
    return { table: 'course_piece', key, body: { hash, number, bytes } }
  })
  const photo = { hash, bytes: image.length, pieces: pieces.length, content_type: 'image/png' }
  const body = {
    version,
    attribution: null,
    sent: null,
    drawing: null,
    updated_at_ms: version,
    photo: { ...photo, corners: [PLACE, PLACE, PLACE, PLACE] },
  }
  return { image, pieces, course: { table: 'course', key: 'site', body } }
}

const gone = (row: Row): Row => ({ ...row, body: null })

for (const kind of LONG_SUITE_KINDS) {
  describe(`the photo of a site in chunks, on ${kind.name}`, { skip: kind.skip }, () => {
    async function open(t: TestContext, siteMaxBytes = 0) {
      const hub = await openHub(kind, { siteMaxBytes })
      t.after(() => hub.stop())
      return { hub, people: new People(hub), site: new Teller(await hub.site()) }
    }
    const shown = async (hub: TestHub, siteId: string): Promise<Buffer | number> => {
      const url = `${hub.hub.url()}/sites/${siteId}/course/photo`
      const answer = await fetch(url, { headers: { 'x-api-key': ADMIN_KEY } })
      return answer.status === 200 ? Buffer.from(await answer.arrayBuffer()) : answer.status
    }

    test('is the same when chunks arrive twice, late or in another order', async (t) => {
      const { hub, site } = await open(t)
      const { image, course, pieces } = newPhoto(1)
      const [first, second, ...others] = [course, ...pieces].map((row) => site.partOf(row))
      assert.ok(first !== undefined && second !== undefined)
      assert.equal(await site.push(second), 409, 'before the one that it follows')
      assert.equal(await site.push(first), 200)
      assert.equal(await site.push(second), 200)
      for (const part of others) {
        assert.equal(await site.push(part), 200)
        assert.equal(await site.push(part), 409, 'its answer was lost')
        assert.equal(await site.push(second), 409, 'it was long on its way')
      }
      assert.deepEqual(await shown(hub, site.siteId), image)
    })

    test('stays the newer one when chunks of the older arrive after it', async (t) => {
      const { hub, site } = await open(t)
      const [older, newer] = [newPhoto(1), newPhoto(2)]
      const stale = older.pieces.map((row) => site.partOf(row))
      const read = site.resent([older.course, ...older.pieces])
      for (const part of stale.slice(0, 3)) assert.equal(await site.push(part), 200)
      site.backTo(stale[3] ?? assert.fail())
      for (const row of [newer.course, ...older.pieces.map(gone), ...newer.pieces])
        assert.equal(await site.push(site.partOf(row)), 200)
      assert.deepEqual(await shown(hub, site.siteId), newer.image)
      for (const part of stale) assert.equal(await site.push(part), 409)
      // an audit had read them before
      assert.equal(await site.push(read), 200)
      assert.deepEqual(await shown(hub, site.siteId), newer.image)
      const { count } =
        (await hub.hub.database.get<{ count: number }>(
          `SELECT COUNT(*) AS count FROM entity
            WHERE site_id = $1 AND entity_table = 'course_piece' AND body IS NOT NULL`,
          [site.siteId],
        )) ?? {}
      assert.equal(Number(count), PIECES, 'the others are gone')
    })

    test('stays that of the newer epoch, whatever the previous epoch still sends', async (t) => {
      const { hub, site } = await open(t)
      const [older, newer] = [newPhoto(1), newPhoto(2)]
      for (const row of [older.course, ...older.pieces.slice(0, 2)])
        assert.equal(await site.push(site.partOf(row)), 200)
      const late = older.pieces.slice(2).map((row) => site.partOf(row))
      const restored = await site.forked()
      for (const row of [newer.course, ...newer.pieces]) assert.equal(await restored.push(restored.partOf(row)), 200)
      for (const part of late) await site.push(part)
      assert.deepEqual(await shown(hub, site.siteId), newer.image)
    })

    test('is not shown while the site is over its quota, and is complete once there is room', async (t) => {
      const maxBytes = 600_000
      const { hub, site, people } = await open(t, maxBytes)
      const before = newPhoto(1, randomBytes(30_000))
      for (const row of [before.course, ...before.pieces]) assert.equal(await site.push(site.partOf(row)), 200)
      const photo = newPhoto(2, randomBytes(PIECE_BYTES * 20))
      const rows = [photo.course, ...before.pieces.map(gone), ...photo.pieces]
      let refused: SyncPart | undefined
      for (const row of rows.splice(0)) {
        const part = site.partOf(row)
        if (refused === undefined && (await site.push(part)) === 400) refused = part
        if (refused !== undefined) rows.push(row)
      }
      assert.ok(refused !== undefined && rows.length > 3 && rows.length < 20, `${rows.length} are left`)
      assert.equal(await shown(hub, site.siteId), 404, 'neither half of it nor the one before')
      assert.equal((await people.get(site.path)).state, 'full')
      const kept = (await countStoredBytes(hub.hub.database, site.siteId, hub.clock.nowMs())) ?? 0
      assert.ok(kept < maxBytes * 1.1 + 2 * PIECE_BYTES, `${kept} bytes`)

      // as it is counted when an admin has made room
      const { database } = hub.hub
      const makeRoom = () => database.run('UPDATE site SET stored_bytes = 0 WHERE site_id = $1', [site.siteId])
      await makeRoom()
      site.backTo(refused)
      for (const row of rows) {
        const part = site.partOf(row)
        if ((await site.push(part)) === 200) continue
        await makeRoom()
        assert.equal(await site.push(part), 200)
      }
      assert.deepEqual(await shown(hub, site.siteId), photo.image)
    })

    test('continues after the keys of the site were revoked, and stays separate from other sites', async (t) => {
      const { hub, site, people } = await open(t)
      const other = new Teller(await hub.site())
      const photo = newPhoto(1)
      const rows = [photo.course, ...photo.pieces]
      for (const row of rows) assert.equal(await other.push(other.partOf(row)), 200)
      for (const row of rows.slice(0, 3)) assert.equal(await site.push(site.partOf(row)), 200)
      assert.equal((await people.request('DELETE', `${site.path}/keys`)).status, 200)
      const refused = site.partOf(rows[3] ?? assert.fail())
      assert.equal(await site.push(refused), 401)
      assert.equal(await shown(hub, site.siteId), 404, 'the pieces of the other site are not its own')
      const made = await people.request('POST', `${site.path}/keys`)
      const back = await site.withKey(hub, made.body.key)
      assert.equal(await back.push(refused), 200)
      for (const row of rows.slice(4)) assert.equal(await back.push(back.partOf(row)), 200)
      for (const { siteId } of [site, other]) assert.deepEqual(await shown(hub, siteId), photo.image)
    })
  })
}

/** Gateway that sends one row at a time. */
class Teller {
  #client: SiteClient
  #last: SyncPart | undefined
  #seq = 0

  constructor(client: SiteClient) {
    this.#client = client
  }

  get siteId(): string {
    return this.#client.siteId
  }

  get path(): string {
    return this.#client.path
  }

  /** Returns the next part, after the last one created, sent or not. */
  partOf(row: Row): SyncPart {
    const seq = ++this.#seq
    const content = rowsContent([{ ...row, seq }])
    this.#last = this.#client.part('entities', content, { to: seq, before: this.#last })
    return this.#last
  }

  /** Replaces this part with the next one. */
  backTo(refused: SyncPart): void {
    this.#seq = refused.from
    this.#last = undefined
  }

  /** Returns rows requested again by an audit, in the state before anything was sent. */
  resent(rows: readonly Row[]): SyncPart {
    const content = rowsContent(rows.map((row, i) => ({ ...row, seq: i + 1 })))
    return this.#client.part('entities', content, { isResend: true })
  }

  async push(part: SyncPart): Promise<number> {
    return (await this.#client.push(part)).status
  }

  /** Returns a gateway with the same database restored from a backup. */
  async forked(): Promise<Teller> {
    return new Teller(await this.#client.forked())
  }

  /** Returns a gateway with the same database, restarted with another key. */
  async withKey(hub: TestHub, key: string): Promise<Teller> {
    const client = hub.client(this.siteId, key)
    client.epoch = this.#client.epoch
    await client.hello()
    const teller = new Teller(client)
    teller.#seq = this.#seq
    teller.#last = this.#last
    return teller
  }
}
