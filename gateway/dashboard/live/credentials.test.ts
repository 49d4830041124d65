import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brokerChoices, isLoopback, toCredentialsCsv, toQrText } from './credentials.ts'

const CREDENTIAL = { hardwareId: 'tb-17', password: 'se"cret', name: 'Cart, 17', cart: '=17' }

test('the QR code of a device contains its broker address and credentials', () => {
  assert.deepEqual(JSON.parse(toQrText('mqtt://10.0.0.5:1883', CREDENTIAL)), {
    mqtt: 'mqtt://10.0.0.5:1883',
    hardware_id: 'tb-17',
    password: 'se"cret',
  })
})

test('exported credentials are a table whose cells no spreadsheet takes for a formula', () => {
  const csv = toCredentialsCsv('mqtt://b:1883', [CREDENTIAL], 'en')
  assert.equal(
    csv,
    '\ufeffhardware_id,name,cart,mqtt,username,password\r\ntb-17,"Cart, 17",\'=17,mqtt://b:1883,tb-17,"se""cret"\r\n',
  )
})

test('labels name the ports and encryption of the broker, and no address local to its computer', () => {
  const gateway = ['mqtt://192.168.1.5:18101', 'mqtts://192.168.1.5:8883']
  assert.deepEqual(brokerChoices('127.0.0.1', gateway), gateway)
  assert.deepEqual(brokerChoices('localhost', ['mqtts://10.0.0.5:8883']), ['mqtts://10.0.0.5:8883'])
  assert.equal(brokerChoices('club.local', gateway)[0], 'mqtt://club.local:18101')
  assert.equal(brokerChoices('club.local', ['mqtt://127.0.0.1:1883'])[0], 'mqtt://club.local:1883')
  assert.equal(brokerChoices('[fd00::5]', ['mqtt://[::1]:1883'])[0], 'mqtt://[fd00::5]:1883')
  for (const one of [
    'mqtt://127.0.0.1:1883',
    'mqtts://localhost:8883',
    'localhost',
    'mqtt://[::1]:1883',
    '127.1.2.3:1883',
  ])
    assert.ok(isLoopback(one), one)
  for (const one of ['mqtt://10.0.0.5:1883', 'localhost.example:1883', '']) assert.ok(!isLoopback(one), one)
})
