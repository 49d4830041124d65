import assert from 'node:assert/strict'
import type { TestGateway } from '../start-gateway.ts'

/**
 * Moves the whole log into blocks, as every deletion of old records does first; nothing is old enough to be deleted.
 */
export async function sealTelemetry(gateway: TestGateway): Promise<void> {
  const { status, body } = await gateway.request('POST', '/telemetry/purge', {
    body: { older_than_days: 3650 },
  })
  assert.deepEqual([status, body.purged], [200, { gps: 0, battery: 0 }])
}

/** Requests all paths, one after the other; returns the responses by path. Fails unless all are 200. */
export async function answersTo(gateway: TestGateway, paths: readonly string[]): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {}
  for (const path of paths) {
    const { status, body } = await gateway.request('GET', path)
    assert.equal(status, 200, path)
    answers[path] = body
  }
  return answers
}
