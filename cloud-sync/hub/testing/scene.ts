import { after, before } from 'node:test'
import type { HubConfig } from '#hub/config.ts'
import { ANY_DATABASE, type DatabaseKind } from './databases.ts'
import { TestHub } from './open-hub.ts'
import { People } from './people.ts'
import type { SiteClient } from './site-client.ts'

/** Opens a hub for the tests of the file or suite that calls it, and returns it with its API. */
export function hubScene(kind: DatabaseKind = ANY_DATABASE, settings: Partial<HubConfig> = {}) {
  const hub = new TestHub()
  before(() => hub.start(kind, settings))
  after(() => hub.stop())
  return { hub, people: new People(hub) }
}

/** Opens a hub as `hubScene` does, with one site, whose gateway has sent hello. */
export function siteScene(kind: DatabaseKind = ANY_DATABASE): { hub: TestHub; people: People; site: SiteClient } {
  const scene = hubScene(kind)
  const site = scene.hub.client('site-1', '')
  before(() => scene.hub.admit(site))
  return { ...scene, site }
}
