import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { ConnectFields } from './mqtt-packets.ts'
import { RawMqtt } from './raw-mqtt.ts'
import { ADMIN_KEY, type TestGateway } from './start-gateway.ts'

/** What a program says in CONNECT: the admin's API key, and a client id of its own unless told. */
export async function programFields(gateway: TestGateway, fields: Partial<ConnectFields> = {}): Promise<ConnectFields> {
  return {
    clientId: `raw-${randomUUID()}`,
    username: await gateway.adminId(),
    password: ADMIN_KEY,
    ...fields,
  }
}

/** A connection made of bytes that has logged in with the admin's API key. */
export async function rawProgram(gateway: TestGateway, fields: Partial<ConnectFields> = {}): Promise<RawMqtt> {
  const client = await RawMqtt.open(gateway.mqtt)
  assert.equal(await client.login(await programFields(gateway, fields)), 0)
  return client
}
