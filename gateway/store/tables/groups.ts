import { ConflictError, NotFoundError } from '#shared/errors.ts'
import { MAX_GROUP_ID } from '#shared/ids.ts'
import { changed, event, write } from '../db/audit.ts'
import type { Connection } from '../db/connection.ts'
import { bodyOfKey, table } from '../db/table.ts'
import { type GeofenceSetChange, saveGeofenceSet } from './geofences.ts'

export const deviceGroupTable = table('device_group', {
  care: {
    what: 'the groups',
    isRemembered: true,
    meaning: 'Missing groups with devices or zones are recreated; their number becomes their name.',
    afterLoss: [
      `INSERT OR IGNORE INTO device_group (group_id, name, created_at_ms, updated_at_ms)
         SELECT group_id, 'Group ' || group_id, at_ms, at_ms FROM (
           SELECT group_id, max(updated_at_ms) AS at_ms FROM device WHERE group_id IS NOT NULL GROUP BY group_id
           UNION ALL SELECT group_id, max(updated_at_ms) FROM geofence_set WHERE zones <> '[]' GROUP BY group_id)`,
    ],
  },
  replicated: {
    columns: ['group_id', 'name', 'created_at_ms', 'updated_at_ms'],
    times: ['updated_at_ms'],
    key: 'CAST(t.group_id AS TEXT)',
    where: 't.group_id = ?',
    valuesOf: (key) => [Number(key)],
  },
  noun: 'group',
})

export interface GroupRow {
  groupId: number
  name: string
  createdAtMs: number
  updatedAtMs: number
}

const GROUP_COLUMNS = 'group_id, name, created_at_ms, updated_at_ms'

export function listGroups(connection: Connection): GroupRow[] {
  return connection.all<GroupRow>(`SELECT ${GROUP_COLUMNS} FROM device_group ORDER BY group_id`)
}

export function isGroup(connection: Connection, groupId: number): boolean {
  return connection.get('SELECT 1 FROM device_group WHERE group_id = ?', groupId) !== undefined
}

function findGroup(connection: Connection, groupId: number): GroupRow {
  const row = connection.get<GroupRow>(`SELECT ${GROUP_COLUMNS} FROM device_group WHERE group_id = ?`, groupId)
  if (row === undefined) throw new NotFoundError('group_not_found', `there is no group ${groupId}`)
  return row
}

export interface NewGroup {
  /** Null for the next free id. */
  groupId: number | null
  /** Highest id of all other objects that share the number space. */
  highestOtherId: number
  name: string
  nowMs: number
}

/** Throws `group_exists`, or `no_group_id_left` if the highest possible number has been assigned. */
export const createGroup = write(
  (connection: Connection, input: NewGroup): GroupRow => {
    const groupId = input.groupId ?? nextGroupId(connection, input.highestOtherId)
    if (isGroup(connection, groupId)) throw new ConflictError('group_exists', `a group ${groupId} exists already`)
    connection.run(
      'INSERT INTO device_group (group_id, name, created_at_ms, updated_at_ms) VALUES (?, ?, ?, ?)',
      groupId,
      input.name,
      input.nowMs,
      input.nowMs,
    )
    return findGroup(connection, groupId)
  },
  {
    audit: (connection) => (group) => {
      const key = String(group.groupId)
      return [event('group.created', key, bodyOfKey(connection, deviceGroupTable, key))]
    },
  },
)

function nextGroupId(connection: Connection, highestOtherId: number): number {
  const row = connection.get<{ highest: number }>('SELECT ifnull(max(group_id), 0) AS highest FROM device_group')
  const groupId = 1 + Math.max(row?.highest ?? 0, highestOtherId)
  if (groupId > MAX_GROUP_ID)
    throw new ConflictError('no_group_id_left', 'the highest group_id is in use: set a free one')
  return groupId
}

export interface GroupChange {
  groupId: number
  name: string
  nowMs: number
}

export const updateGroup = write(
  (connection: Connection, { groupId, name, nowMs }: GroupChange): GroupRow => {
    connection.run('UPDATE device_group SET name = ?, updated_at_ms = ? WHERE group_id = ?', name, nowMs, groupId)
    return findGroup(connection, groupId)
  },
  { audit: changed(deviceGroupTable, ({ groupId }) => String(groupId)) },
)

/** Throws `group_not_empty` while a device is in the group. `geofenceSet` is the final state of its zones. */
export const deleteGroup = write(
  (
    connection: Connection,
    { groupId, geofenceSet }: { groupId: number; geofenceSet: GeofenceSetChange | null },
  ): GroupRow => {
    const known = findGroup(connection, groupId)
    if (connection.get('SELECT 1 FROM device WHERE group_id = ? LIMIT 1', groupId) !== undefined)
      throw new ConflictError('group_not_empty', `there are devices in group ${groupId}`)
    connection.run('DELETE FROM device_group WHERE group_id = ?', groupId)
    if (geofenceSet !== null) saveGeofenceSet(connection, geofenceSet)
    return known
  },
  { audit: changed(deviceGroupTable, ({ groupId }) => String(groupId)) },
)
