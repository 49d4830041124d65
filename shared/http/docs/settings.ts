import { html } from 'hono/html'
import type { Setting } from '#shared/wire/settings.ts'
import { table } from './html.ts'
import type { Section } from './page.ts'

export function settingsChapter(program: string, settings: readonly Setting[]): Section {
  const rows = settings.map(
    ({ name, defaultValue, help }) => html`<tr>
      <th scope="row"><code>${name}</code></th><td>${defaultValue}</td><td>${help}</td></tr>`,
  )
  return {
    id: 'settings',
    title: 'Settings',
    render: () => html`<p>Environment variables that the ${program} reads when it starts. An unknown name or an
      unusable value stops it with a message.</p>${table(['Setting', 'Default', 'Effect'], rows)}`,
  }
}
