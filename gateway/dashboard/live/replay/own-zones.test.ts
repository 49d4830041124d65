import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signal } from '@preact/signals-core'
import { boxZone } from '#dashboard/testing/zones-json.ts'
import type { ApiClient } from '#shared/client.ts'
import type { DeviceJson } from '#shared/wire/devices.ts'
import { groupsIn, readOwnZones } from './own-zones.ts'

test('the groups of devices are asked for their own zones, each once', async () => {
  const version = signal(0)
  const devices = new Map<string, DeviceJson>()
  const groups = groupsIn({ devices, version })
  const known = () => groups.value
  assert.equal(known(), '')
  // other members of a device are not read
  for (const [id, group_id] of [
    ['a', 40],
    ['b', null],
    ['c', 4],
    ['d', 40],
  ] as const)
    devices.set(id, { hardware_id: id, group_id } as DeviceJson)
  version.value++
  assert.equal(groups.value, '4,40')
  const asked: unknown[] = []
  const call = async (name: string, { path }: { path: { groupId: number } }) => {
    asked.push([name, path.groupId])
    return { features: path.groupId === 4 ? [boxZone('barn', [0, 0, 1, 1])] : [] }
  }
  const api = { call } as unknown as Pick<ApiClient, 'call'>
  const own = await readOwnZones(api, known().split(',').map(Number), new AbortController().signal)
  assert.deepEqual(
    asked,
    [4, 40].map((id) => ['GET /groups/{groupId}/geofences', id]),
  )
  assert.deepEqual(
    [...own].map(([id, zones]) => [id, zones.length]),
    [
      [4, 1],
      [40, 0],
    ],
  )
})
