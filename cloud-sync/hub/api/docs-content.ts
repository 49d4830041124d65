import type { DocsContent } from '#shared/http/docs/page.ts'
import { settingsChapter } from '#shared/http/docs/settings.ts'
import type { Walkthrough } from '#shared/http/docs/tour.ts'
import type { Setting } from '#shared/wire/settings.ts'
import { renderSync } from './sync-docs.ts'

/** Returns the walkthrough and the sections that `/docs` shows in addition to the operations. */
export function createDocsContent(settings: readonly Setting[]): DocsContent {
  return {
    tour: TOUR,
    chapters: [{ id: 'replication', title: 'Sync protocol', render: renderSync }, settingsChapter('hub', settings)],
  }
}

export const TOUR: Walkthrough = {
  title: 'From a new hub to a remotely locked cart',
  intro:
    'Copy these commands into a shell, one after the other. First set the address of the hub and your ' + 'admin key:',
  keyPrefix: 'cbh_',
  steps: [
    {
      title: 'Check that the hub runs',
      text: 'This request needs no key.',
      actions: [{ method: 'GET', path: '/health' }],
    },
    {
      title: 'Add a site',
      text:
        'The response has the key for the gateway of the site; it is shown only once. Start the gateway with ' +
        'CARTBARN_SITE_ID, CARTBARN_UPSTREAM_URL and this key.',
      actions: [{ method: 'POST', path: '/sites', body: { site_id: 'north', name: 'North course' } }],
    },
    {
      title: 'Check the state of the site',
      text:
        'The response shows how fresh the data is, the backlog and the results of the last audit: as fields ' +
        'for programs and as a sentence for people.',
      actions: [
        { method: 'GET', path: '/sites' },
        { method: 'GET', path: '/sites/north' },
      ],
    },
    {
      title: 'Create a user',
      text:
        'A viewer reads its sites, an operator may also create intents there. The answer has the api_key of the ' +
        'user; it is shown only once.',
      actions: [{ method: 'POST', path: '/users', body: { name: 'Jane', role: 'operator', site_ids: ['north'] } }],
    },
    {
      title: 'List devices and events',
      text:
        'The first request lists the latest state of each device of all sites in scope; the others answer as the ' +
        'gateway of the site does.',
      actions: [
        { method: 'GET', path: '/devices' },
        { method: 'GET', path: '/sites/north/devices' },
        { method: 'GET', path: '/sites/north/lock-events' },
      ],
    },
    {
      title: 'Lock a cart',
      text:
        'The gateway of the site fetches the intent within seconds and reports the result. It never applies a ' +
        'command that has expired.',
      actions: [
        {
          method: 'POST',
          path: '/sites/north/intents',
          body: { kind: 'command.send', body: { hardware_id: 'cart-07', command: 'lock' } },
        },
        { method: 'GET', path: '/sites/north/intents' },
      ],
    },
  ],
}
