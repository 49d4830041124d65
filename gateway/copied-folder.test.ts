import assert from 'node:assert/strict'
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { backUp } from '#gateway/offline/backups.ts'
import { beginNewSite } from '#gateway/offline/new-site.ts'
import { repairDatabase } from '#gateway/offline/repair.ts'
import { restoreBackup } from '#gateway/offline/restore.ts'
import { ConfigError } from '#shared/errors.ts'
import { toIso } from '#shared/time.ts'
import { FilePlace } from '#store/backups/file-place.ts'
import { KillableGateway } from '#testing/killable-gateway.ts'
import { startGateway } from '#testing/start-gateway.ts'

const root = mkdtempSync(join(tmpdir(), 'cartbarn-copied-'))
after(() => rmSync(root, { recursive: true, force: true }))
const COPIES = process.env.CARTBARN_TEST_LONG === '1' ? 200 : 24
const KILLS = process.env.CARTBARN_TEST_LONG === '1' ? 40 : 4
const REFUSED = /cartbarn\.db was copied while a gateway had it open.*nothing was changed/

let folders = 0
const newFolder = () => {
  const folder = join(root, String(folders++))
  mkdirSync(folder, { mode: 0o700 })
  return folder
}

/** Writer that stores until it is stopped or the gateway is killed; counts acknowledged records. */
class Writing {
  acknowledged = 0
  readonly #gateway: KillableGateway
  #isOver = false
  #done: Promise<void> = Promise.resolve()

  constructor(gateway: KillableGateway) {
    this.#gateway = gateway
  }

  begin(): void {
    this.#isOver = false
    this.#done = this.#run().catch(() => undefined)
  }

  async end(): Promise<void> {
    this.#isOver = true
    await this.#done
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      const gps = Array.from({ length: 50 }, (_, i) => ({
        timestamp: toIso(Date.now() - 1000 * 3600 + this.acknowledged + i),
        lat: 51,
        long: 7,
      }))
      const { status } = await this.#gateway.request('POST', '/devices/cart-1/telemetry/import', { body: { gps } })
      if (status < 300) this.acknowledged += gps.length
    }
  }
}

async function startWriting(t: TestContext): Promise<{ g: KillableGateway; writing: Writing }> {
  const g = await KillableGateway.start(t)
  await g.register('cart-1')
  return { g, writing: new Writing(g) }
}

/** Returns the number of records of a gateway in this folder; the error if it does not start. */
async function recordsIn(dataDir: string): Promise<number | Error> {
  let g: Awaited<ReturnType<typeof startGateway>>
  try {
    g = await startGateway({ CARTBARN_DATA_DIR: dataDir })
  } catch (error) {
    assert.ok(error instanceof Error)
    return error
  }
  try {
    return (await g.request('GET', '/stats')).body.telemetry.gps
  } finally {
    await g.stop()
  }
}

/** Partial copies as people make them: some of the files, in the order in which a program reaches them. */
const WAYS: Record<string, (names: string[]) => string[]> = {
  'the database alone': () => ['cartbarn.db'],
  'the database, then its log': () => ['cartbarn.db', 'cartbarn.db-wal'],
  'the log, then the database': () => ['cartbarn.db-wal', 'cartbarn.db'],
  'all files': (names) => names,
  'all files, last to first': (names) => names.toReversed(),
}

function copy(from: string, names: readonly string[]): string {
  const to = newFolder()
  for (const name of names) if (existsSync(join(from, name))) copyFileSync(join(from, name), join(to, name))
  return to
}

for (const [way, choose] of Object.entries(WAYS))
  test(`a copy made while the gateway writes, ${way}, is rejected or lacks nothing acknowledged`, async (t) => {
    const { g, writing } = await startWriting(t)
    writing.begin()
    const copies: { folder: string; acknowledged: number }[] = []
    for (let i = 0; i < COPIES / Object.keys(WAYS).length; i++) {
      await pause(Math.random() * 150)
      const { acknowledged } = writing
      const names = readdirSync(g.dataDir)
        .filter((name) => name.startsWith('cartbarn.db'))
        .sort()
      copies.push({ folder: copy(g.dataDir, choose(names)), acknowledged })
    }
    await writing.end()
    await g.stop()
    for (const { folder, acknowledged } of copies) {
      const before = readFileSync(join(folder, 'cartbarn.db'))
      const found = await recordsIn(folder)
      if (typeof found === 'number') assert.ok(found >= acknowledged, `${found} of ${acknowledged}`)
      else {
        assert.match(found.message, REFUSED)
        assert.ok(found instanceof ConfigError, 'it ends with 78')
        assert.ok(readFileSync(join(folder, 'cartbarn.db')).equals(before), 'nothing is changed')
      }
    }
    assert.equal(await recordsIn(copy(g.dataDir, ['cartbarn.db'])), writing.acknowledged, 'copied after the stop')
  })

test('a gateway killed at any moment starts in its folder with all acknowledged data', async (t) => {
  const { g, writing } = await startWriting(t)
  for (let kill = 0; kill < KILLS; kill++) {
    writing.begin()
    await pause(Math.random() * 300)
    await g.kill()
    await writing.end()
    await g.start()
    const { body } = await g.request('GET', '/stats')
    assert.ok(body.telemetry.gps >= writing.acknowledged)
    writing.acknowledged = body.telemetry.gps
  }
})

test('a folder moved after a kill starts, and a copied one can be opened without loss', async (t) => {
  const { g, writing } = await startWriting(t)
  writing.begin()
  await pause(200)
  await writing.end()
  await g.kill()
  const copied = newFolder()
  cpSync(g.dataDir, copied, { recursive: true })
  const refused = await recordsIn(copied)
  assert.ok(refused instanceof ConfigError, String(refused))
  await assert.rejects(backUp({ dataDir: copied, to: join(root, 'torn.backup'), atMs: 0 }), { message: REFUSED })
  assert.throws(() => beginNewSite(copied, 0), { message: REFUSED })
  await repairDatabase(copied, Date.now(), {
    space: () => undefined,
    noChecksums: () => undefined,
    logDamage: () => undefined,
    wrongBits: () => undefined,
    schemaDamage: () => undefined,
    table: () => undefined,
    mayReplace: async () => true,
  })
  assert.equal(await recordsIn(copied), writing.acknowledged)
  await g.start()
  assert.equal((await g.request('GET', '/stats')).body.telemetry.gps, writing.acknowledged)
})

test('a backup made while the gateway runs is restored into a database that starts', async (t) => {
  const { g, writing } = await startWriting(t)
  writing.begin()
  await pause(100)
  await writing.end()
  const to = join(root, 'whole.backup')
  await backUp({ dataDir: g.dataDir, to, atMs: Date.now() })
  const dataDir = newFolder()
  await restoreBackup({ dataDir, from: FilePlace.toRead(to), atMs: Date.now() })
  assert.equal(await recordsIn(dataDir), writing.acknowledged)
})
