import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operationIdOf } from './operation-names.ts'

const LIST = { type: 'array' }

for (const [method, path, expected, status = 200, answer = {}] of [
  ['get', '/users', 'listUsers', 200, LIST],
  ['get', '/devices', 'listDevices', 200, { properties: { pagination: {} } }],
  ['get', '/users/{id}', 'getUser'],
  ['get', '/stats', 'getStats'],
  ['get', '/devices/{id}/gps/latest', 'getDeviceGpsLatest'],
  ['post', '/users', 'createUser', 201],
  ['post', '/devices/{id}/commands', 'sendDeviceCommand', 202],
  ['post', '/commands/{id}/retry', 'retryCommand', 202],
  ['post', '/users/{id}/rotate-key', 'rotateUserKey'],
  ['put', '/groups/{groupId}/config/{type}', 'putGroupConfigByType'],
  ['get', '/groups/{groupId}/config', 'getGroupConfig'],
  ['put', '/groups/{groupId}/devices/{id}', 'putGroupDevice'],
  ['patch', '/users/{id}', 'updateUser'],
  ['delete', '/mqtt/clients/{client_id}', 'deleteMqttClient'],
] as const) {
  test(`${method} ${path} is ${expected}`, () => {
    assert.equal(operationIdOf({ method, path, status, answer }), expected)
  })
}
