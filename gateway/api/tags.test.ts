import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tagOf } from '#shared/http/operation-names.ts'
import { TAGS } from './tags.ts'

test('a path belongs to the part of the API its last noun is of', () => {
  assert.equal(tagOf(TAGS, '/devices/{id}'), 'Devices')
  assert.equal(tagOf(TAGS, '/devices/{id}/commands'), 'Commands')
  assert.equal(tagOf(TAGS, '/groups/{groupId}/config/{type}'), 'Configuration')
  assert.equal(tagOf(TAGS, '/groups/{groupId}/geofences'), 'Geofences')
  assert.equal(tagOf(TAGS, '/metrics'), 'System')
})
