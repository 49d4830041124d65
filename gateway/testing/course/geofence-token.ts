import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { TestGateway } from '../start-gateway.ts'

/** Signed content of a token. */
export interface TokenContent {
  groupId: number
  deviceId: number
  expiresAtMs: number
  /** User who requested the download; by default the hub. */
  userId?: string
}

/** Returns the number of a device in the database of a gateway. */
export function deviceIdOf(gateway: TestGateway, hardwareId: string): number {
  return readOne(gateway, 'SELECT device_id FROM device WHERE hardware_id = ?', hardwareId) as number
}

/** Makes a download token as the gateway does, with its own secret, but with content that it would never sign. */
export function signToken(gateway: TestGateway, content: TokenContent): string {
  const secret = readOne(gateway, 'SELECT value FROM secret WHERE name = ?', 'geofence_token') as Uint8Array
  const text = `${content.groupId}.${content.deviceId}.${content.expiresAtMs}.${content.userId ?? 'hub'}`
  return `${text}.${createHmac('sha256', secret).update(`geofences/${text}`).digest('base64url')}`
}

// the columns have the requested types: the tables are STRICT
function readOne({ config }: TestGateway, sql: string, value: string): unknown {
  const db = new Database(join(config.dataDir, 'cartbarn.db'), { readonly: true })
  try {
    return db.prepare(sql).pluck().get(value)
  } finally {
    db.close()
  }
}
