import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ENTITY_TABLES } from '#shared/wire/replication/replicated.ts'
import { checkedJson, cureOf } from '../damage/contents.ts'
import { type WriteName, writeOf, writes } from '../writer/writes.ts'
import { CHANGE_LOG_ENTRIES, TABLES } from './all.ts'

// The lists as they were before tables were declared; goes with the last of the old lists.
const before = JSON.parse(readFileSync(new URL('./lists-before.json', import.meta.url), 'utf8'))
const tables = [...TABLES.values()]
/** Decided: a lost change log enters commands and audit entries again too, as a repair does. */
const flat = (sql: string) =>
  sql
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\bt\.|\b t\b/g, '')
    .replaceAll(/ AS rowid/g, '')

test('tables, in their order, are cared for as before', () => {
  const withoutChangeLog = (names: string[]) => names.filter((name) => name !== 'change_log')
  // the change log is completed from all others, and comes last
  assert.deepEqual(withoutChangeLog(tables.map(({ name }) => name)), withoutChangeLog(before.order))
  for (const table of tables) {
    const { what, size = 'small', meaning, hasOwnSums, isRemembered, afterLoss = [] } = table.care
    const old = before.tables[table.name]
    assert.deepEqual(
      { what, size, meaning, hasOwnSums, isRemembered },
      {
        what: old.what,
        size: old.size,
        meaning: old.meaning,
        hasOwnSums: old.hasOwnSums,
        isRemembered: old.isRemembered,
      },
    )
    if (table.name !== 'change_log')
      assert.deepEqual(afterLoss.map(flat), (old.afterLoss ?? []).map(flat), table.name)
    const json = checkedJson(table).map(([column, one]) => [
      column,
      one.type,
      one.where ?? null,
      flat(cureOf(table.name, column, one)),
    ])
    const oldJson = (old.json ?? []).map(
      ({
        column,
        type,
        where,
        cure,
      }: {
        column: string
        type: string
        where?: string
        cure: 'delete' | { set: string }
      }) => [
        column,
        type,
        where ?? null,
        flat(cure === 'delete' ? `DELETE FROM ${table.name}` : `UPDATE ${table.name} SET ${cure.set}`),
      ],
    )
    assert.deepEqual(json, oldJson, table.name)
  }
})

test('rows are replicated as before', () => {
  const replicated = tables.filter((one) => one.replicated !== undefined)
  assert.deepEqual(replicated.map(({ name }) => name).sort(), [...ENTITY_TABLES].sort())
  for (const { name, replicated: now, json = {} } of replicated) {
    const old = before.entities[name]
    const from = `${now?.from ?? `${name} t`} ${now?.sentWith ?? ''}`
    assert.equal(from.replaceAll(/\s+/g, ' ').trim(), old.from.replaceAll(/\s+/g, ' '))
    for (const part of ['columns', 'key', 'where'] as const) assert.deepEqual(now?.[part], old[part])
    for (const part of ['flags', 'blobs', 'marks', 'times'] as const)
      assert.deepEqual(now?.[part] ?? [], old[part] ?? [])
    assert.deepEqual(
      now?.columns.filter((column) => column in json),
      old.columns.filter((column: string) => (old.json ?? []).includes(column)),
    )
    assert.deepEqual(JSON.parse(JSON.stringify(now?.valuesOf?.('12/a/b') ?? null)), old.values)
  }
})

test('the change log, orphans and erasures are as before', () => {
  assert.deepEqual(CHANGE_LOG_ENTRIES.length, before.entries.length)
  const names = before.entries.map((sql: string) => sql.split("'")[1]).sort()
  assert.deepEqual(CHANGE_LOG_ENTRIES.map((sql) => sql.split("'")[1]).sort(), names)
  const orphans = tables.flatMap(({ name, belongsTo }) =>
    belongsTo === undefined
      ? []
      : [[name, `${belongsTo[0]} NOT IN (SELECT ${belongsTo[0]} FROM ${belongsTo[1]})`]],
  )
  assert.deepEqual(orphans.sort(), before.children.sort())
  const erased = tables.flatMap(({ name, erases }) =>
    erases === undefined ? [] : [{ table: name, json: erases.json ?? [], texts: erases.texts ?? [] }],
  )
  const byName = (a: { table: string }, b: { table: string }) => (a.table < b.table ? -1 : 1)
  assert.deepEqual(erased.sort(byName), before.erased.sort(byName))
  for (const { name, noun = name, replicated } of tables)
    if (replicated !== undefined) assert.equal(noun, before.nouns[name])
})

test('writes are named and audited as before', () => {
  const names = Object.keys(writes) as WriteName[]
  assert.deepEqual(names.toSorted(), before.writes)
  assert.deepEqual(names.filter((name) => writeOf(name).audit !== null).sort(), before.audited)
  assert.deepEqual(
    names.filter((name) => writeOf(name).changesTelemetry === true).sort(),
    before.telemetryWrites,
  )
})
