import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { describeWeakKey, unknownSettingFault } from './settings.ts'

for (const key of ['a'.repeat(24), '1'.repeat(16), '1234567'.repeat(4), 'abababababababababababab', ''])
  test(`"${key}" has too few different characters`, () => assert.match(describeWeakKey(key) ?? '', /8 different/))

for (const key of ['password'.repeat(2) + 'golfclub'.repeat(2), 'a-key-of-at-least-24-characters'])
  test(`"${key}" is accepted`, () => assert.equal(describeWeakKey(key), undefined))

for (const key of ['abcdefgh'.repeat(3), 'golf-course'.repeat(2), 'abcdefghiabcdefghiabcdef'])
  test(`"${key}" is a repetition`, () => assert.match(describeWeakKey(key) ?? '', /repeated/))

test('randomly generated keys are accepted', () => {
  for (let i = 0; i < 1000; i++) {
    assert.equal(describeWeakKey(randomBytes(24).toString('hex')), undefined)
    assert.equal(describeWeakKey(randomBytes(18).toString('base64')), undefined)
  }
})

test('an unknown variable of the head office is reported with its whole prefix, even a doubled one', () => {
  const fault = unknownSettingFault('CARTBARN_PORT', ['PORT'], 'CARTBARN_HUB_')
  assert.match(fault, /^CARTBARN_HUB_CARTBARN_PORT is not a setting/)
})

for (const [written, message] of [
  ['HTTPPORT', /^CARTBARN_HTTPPORT is not a setting of this program; did you mean CARTBARN_HTTP_PORT\?$/],
  ['cartbarn_log_level', /^cartbarn_log_level is not a setting .* did you mean CARTBARN_LOG_LEVEL\?$/],
  ['CartBarn_Http_Port', /^CartBarn_Http_Port is not a setting .* did you mean CARTBARN_HTTP_PORT\?$/],
  ['log-level', /^CARTBARN_log-level is not a setting .* did you mean CARTBARN_LOG_LEVEL\?$/],
  ['HTTP_PROT', /did you mean CARTBARN_HTTP_PORT\?$/],
  ['LOGLEVL', /did you mean CARTBARN_LOG_LEVEL\?$/],
  ['MQTT_PORTS', /did you mean CARTBARN_MQTT_PORT\?$/],
  ['COLOUR', /^CARTBARN_COLOUR is not a setting of this program$/],
  ['', /^CARTBARN_ is not a setting of this program$/],
] as const)
  test(`"${written}" is an unknown setting, and the nearest known one is suggested`, () => {
    assert.match(unknownSettingFault(written, ['HTTP_PORT', 'MQTT_PORT', 'LOG_LEVEL']), message)
  })
