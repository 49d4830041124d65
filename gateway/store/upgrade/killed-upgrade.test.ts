import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { createLog } from '#shared/log.ts'
import { bareEnvironment } from '#shared/testing/bare-environment.ts'
import { fillSchema, RECORDS, ROWS } from '#testing/rows-of-schema.ts'
import { recordsIn } from '#testing/telemetry-tables.ts'
import { Connection } from '../db/connection.ts'
import { knownSchema, migrate } from '../migrate.ts'
import { PageSums } from '../pages/page-sums.ts'
import { openForSetup } from '../writer/open.ts'
import { readProgramRecord } from './program-record.ts'

const PROGRAM = fileURLToPath(new URL('../../testing/open-store.ts', import.meta.url))
const OLD_SCHEMA = 19
const KILLS = process.env.CARTBARN_TEST_LONG !== undefined ? 50 : 6

/** Returns the duration of an upgrade in ms; killed after `killAfterMs`, if given. */
async function open(dataDir: string, killAfterMs?: number): Promise<number> {
  const child = spawn(process.execPath, [PROGRAM, dataDir], {
    env: bareEnvironment({}),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  const beganAtMs = performance.now()
  const ended = once(child, 'exit')
  if (killAfterMs === undefined) {
    const [code] = await ended
    assert.equal(code, 0)
  } else {
    await sleep(killAfterMs)
    child.kill('SIGKILL')
    await ended
  }
  return performance.now() - beganAtMs
}

function contentOf(path: string): { schema: number; devices: number | undefined; records: number } {
  const connection = new Connection(new Database(path, { fileMustExist: true }))
  try {
    assert.deepEqual(connection.all('PRAGMA quick_check'), [{ quickCheck: 'ok' }])
    return {
      schema: Number(connection.db.pragma('user_version', { simple: true })),
      devices: connection.get<{ n: number }>('SELECT count(*) AS n FROM device')?.n,
      records: recordsIn(connection).size,
    }
  } finally {
    connection.close()
  }
}

test('an upgrade killed at any moment leaves the old database or the new one, and a complete backup', {
  timeout: 900_000,
}, async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'cartbarn-killed-upgrade-'))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  const old = openForSetup(join(root, 'cartbarn.db'))
  migrate(old, OLD_SCHEMA)
  fillSchema(old)
  old.close()
  const folderNamed = (name: string) => {
    const folder = mkdtempSync(join(root, name))
    cpSync(join(root, 'cartbarn.db'), join(folder, 'cartbarn.db'))
    return folder
  }
  const tookMs = await open(folderNamed('whole-'))
  const whole = { devices: ROWS, records: ROWS * RECORDS * 2 }

  for (let kill = 0; kill < KILLS; kill++) {
    const folder = folderNamed(`${kill}-`)
    await open(folder, Math.random() * tookMs)
    // a copy, because opening the database and closing it removes its log, which only the program itself may do
    const copy = `${folder}-copy`
    cpSync(folder, copy, { recursive: true })
    const { schema, ...content } = contentOf(join(copy, 'cartbarn.db'))
    assert.ok([OLD_SCHEMA, knownSchema()].includes(schema), `schema ${schema}`)
    assert.deepEqual(content, whole)
    // result of the next start: the new database, with one backup of the old one
    await open(folder)
    assert.deepEqual(contentOf(join(folder, 'cartbarn.db')), { schema: knownSchema(), ...whole })
    const backups = readdirSync(join(folder, 'backups'))
    const named = readProgramRecord(folder)?.backup?.file ?? ''
    assert.ok(backups.includes(named) && backups.every((name) => !name.endsWith('-unfinished')), backups.join())
    for (const name of backups)
      assert.deepEqual(contentOf(join(folder, 'backups', name)), { schema: OLD_SCHEMA, ...whole })
    assert.ok(existsSync(join(folder, 'program.json')))
  }
})

for (const schema of [0, OLD_SCHEMA])
  test(`an upgrade from schema ${schema} killed after its commit survives access by another program`, async (t) => {
    const root = mkdtempSync(join(tmpdir(), 'cartbarn-killed-commit-'))
    t.after(() => rmSync(root, { recursive: true, force: true }))
    const path = join(root, 'cartbarn.db')
    if (schema > 0) {
      const old = openForSetup(path)
      migrate(old, schema)
      fillSchema(old)
      old.close()
    }
    // as a start does
    new PageSums(path, createLog('silent')).prepare()
    const upgraded = openForSetup(path)
    upgraded.all('PRAGMA integrity_check')
    migrate(upgraded)
    if (schema === 0) fillSchema(upgraded)
    const killed = join(root, 'killed')
    mkdirSync(killed)
    for (const end of ['', '-wal', '-sums']) copyFileSync(path + end, join(killed, `cartbarn.db${end}`))
    upgraded.close()
    // Node has an SQLite of its own, which does not know checksums: it moves the log into the database
    const other = new DatabaseSync(join(killed, 'cartbarn.db'))
    other.exec('SELECT count(*) FROM device')
    other.close()
    assert.equal(existsSync(join(killed, 'cartbarn.db-wal')), false)
    await open(killed)
    assert.deepEqual(contentOf(join(killed, 'cartbarn.db')), {
      schema: knownSchema(),
      devices: ROWS,
      records: ROWS * RECORDS * 2,
    })
  })
