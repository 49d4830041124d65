import type { DocsContent } from '#shared/http/docs/page.ts'
import { type Setting, settingsChapter } from '#shared/http/docs/settings.ts'
import type { Tour } from '#shared/http/docs/tour.ts'
import { renderSync } from './sync-docs.ts'

/** What `/docs` says of the head office besides its operations. */
export function createDocsContent(settings: readonly Setting[]): DocsContent {
  return {
    tour: TOUR,
    chapters: [
      { id: 'replication', title: 'What gateways say', render: renderSync },
      settingsChapter('head office', settings),
    ],
  }
}

export const TOUR: Tour = {
  title: 'From nothing to a cart that is locked from afar',
  intro: 'Copy these into a shell, one after the other. First, where the head office is, and your admin key:',
  keyPrefix: 'cbh_',
  steps: [
    {
      title: 'See that it is there',
      text: 'The one question that needs no key.',
      actions: [{ method: 'GET', path: '/health' }],
    },
    {
      title: 'Add a site',
      text: 'The answer has the key of its gateway, which is shown only once. Start the gateway with CARTBARN_SITE_ID, CARTBARN_UPSTREAM_URL and this key.',
      actions: [{ method: 'POST', path: '/sites', body: { site_id: 'north', name: 'North course' } }],
    },
    {
      title: 'See how it is doing',
      text: 'How fresh it is, what is still to come, what was compared: for programs, and in words.',
      actions: [
        { method: 'GET', path: '/sites' },
        { method: 'GET', path: '/sites/north' },
      ],
    },
    {
      title: 'Create a user',
      text: 'A viewer reads its sites, an operator also makes intents there. The answer has its api_key, which is shown only once.',
      actions: [
        { method: 'POST', path: '/users', body: { name: 'Jane', role: 'operator', site_ids: ['north'] } },
      ],
    },
    {
      title: 'See where everything is',
      text: 'The latest state of each device of all sites in scope; below a site as at its gateway.',
      actions: [
        { method: 'GET', path: '/devices' },
        { method: 'GET', path: '/sites/north/devices' },
        { method: 'GET', path: '/sites/north/lock-events' },
      ],
    },
    {
      title: 'Lock a cart',
      text: 'The gateway of the site fetches the wish within seconds and tells what became of it. A command that comes too late is never obeyed.',
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
