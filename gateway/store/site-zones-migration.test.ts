import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { Connection } from './db/connection.ts'
import { migrate } from './migrate.ts'
import { entitiesAfter } from './replication/entities.ts'
import { listGeofenceSets } from './tables/geofences.ts'
import { listZoneVersions, saveZoneSet, type ZoneSetChange, zoneSet } from './tables/zones.ts'

const MIGRATIONS = new URL('./db/migrations/', import.meta.url)
const BEFORE = 18

test('group zones of the previous version stay, in addition to those of the site', (t) => {
  const connection = new Connection(new Database(':memory:'))
  t.after(() => connection.close())
  for (const name of readdirSync(MIGRATIONS).sort().slice(0, BEFORE))
    connection.db.exec(readFileSync(new URL(name, MIGRATIONS), 'utf8'))
  connection.db.pragma(`user_version = ${BEFORE}`)
  connection.db.exec(`INSERT INTO geofence_set VALUES (1, 7, '[{"id":"own"}]', 5), (2, 0, '[]', 5)`)
  migrate(connection)
  const sets = () =>
    listGeofenceSets(connection).map(({ groupId, version, siteVersion, zonesJson, updatedAtMs }) =>
      [groupId, version, siteVersion, zonesJson, updatedAtMs].join(' '),
    )
  assert.deepEqual([zoneSet(connection), listZoneVersions(connection)], [null, []])
  assert.deepEqual(sets(), ['1 7 0 [{"id":"own"}] 5', '2 0 0 [] 5'])

  const change: ZoneSetChange = {
    version: 1,
    atMs: 9,
    userId: 'u',
    userName: 'Jo',
    count: 1,
    zonesJson: '[{"id":"site"}]',
    keptJson: '[{"id":"site"}]',
    switchesJson: '{}',
    // group 1 is sent them, nothing changes for group 2, group 3 gets its first set
    groups: [
      { groupId: 1, version: 8 },
      { groupId: 2, version: 0 },
      { groupId: 3, version: 1 },
    ],
    sessionChanges: [],
  }
  saveZoneSet(connection, change)
  assert.deepEqual(sets(), ['1 8 1 [{"id":"own"}] 9', '2 0 1 [] 5', '3 1 1 [] 9'])
  const logged = [...entitiesAfter(connection, 0, 100)].find(({ table }) => table === 'zone_set')
  assert.deepEqual(logged?.body, {
    version: 1,
    zones: [{ id: 'site' }],
    switches: {},
    updated_at_ms: 9,
  })

  for (let version = 2; version <= 30; version++) saveZoneSet(connection, { ...change, version, groups: [] })
  const kept = listZoneVersions(connection).map(({ version }) => version)
  assert.deepEqual([kept.length, kept[0], kept.at(-1)], [20, 30, 11])
  assert.equal(connection.get<{ count: number }>('SELECT count(*) AS count FROM zone_version')?.count, 20)
})
