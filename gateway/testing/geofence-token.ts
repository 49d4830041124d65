import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { TestGateway } from './start-gateway.ts'

/** What is signed into a token. */
export interface TokenContent {
  groupId: number
  deviceId: number
  expiresAtMs: number
  /** Who had it sent; by default the head office. */
  userId?: string
}

/** The number a device has in the database of a gateway. */
export function deviceIdOf(gateway: TestGateway, hardwareId: string): number {
  return readOne(gateway, 'SELECT device_id FROM device WHERE hardware_id = ?', hardwareId) as number
}

/** A download token as the gateway makes it, signed with its own secret: for what it would never sign itself. */
export function signToken(gateway: TestGateway, content: TokenContent): string {
  const secret = readOne(gateway, 'SELECT value FROM secret WHERE name = ?', 'geofence_token') as Uint8Array
  const text = `${content.groupId}.${content.deviceId}.${content.expiresAtMs}.${content.userId ?? 'hub'}`
  return `${text}.${createHmac('sha256', secret).update(`geofences/${text}`).digest('base64url')}`
}

// the columns have the types that are asked for: the tables are STRICT
function readOne({ config }: TestGateway, sql: string, value: string): unknown {
  const db = new Database(join(config.dataDir, 'cartbarn.db'), { readonly: true })
  try {
    return db.prepare(sql).pluck().get(value)
  } finally {
    db.close()
  }
}
