import { useState } from 'preact/hooks'
import { messageTexts } from '#dashboard/texts/cart-actions.ts'
import { LANGUAGES } from '#dashboard/texts/texts.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { SendForm } from '#dashboard/ui/fields/send-form.tsx'
import { TickField } from '#dashboard/ui/fields/tick-field.tsx'
import { TextField } from '#dashboard/ui/text-field.tsx'
import { READY_TEXTS_MAX } from '#shared/site/settings.ts'
import type { ReadyTextJson } from '#shared/wire/messages/texts.ts'
import { MESSAGE_MAX } from '../message.tsx'
import { AdminList } from './admin-list.tsx'
import { useAdminList } from './use-admin-list.ts'

/** Texts for messages to carts: a page of More, which provides its title. */
export function ReadyTextsPage() {
  const { api } = useDashboard()
  const list = useAdminList(() => api.call('GET /texts'))
  return <AdminList of={list}>{(texts) => <ReadyTextsForm known={texts} />}</AdminList>
}

function ReadyTextsForm({ known }: { known: readonly ReadyTextJson[] }) {
  const { api, clock } = useDashboard()
  const texts = messageTexts()
  const [edited, setEdited] = useState(known)
  const [isSaved, setSaved] = useState(false)
  const edit = (changed: readonly ReadyTextJson[]) => {
    setSaved(false)
    setEdited(changed)
  }
  const change = (at: number, fields: Partial<ReadyTextJson>) =>
    edit(edited.map((one, i) => (i === at ? { ...one, ...fields } : one)))
  const save = async () => {
    setEdited(await api.call('PUT /texts', { body: [...edited] }))
    setSaved(true)
  }
  const isReady = edited.every((one) => LANGUAGES.every((language) => one[language].trim() !== ''))
  const isFull = edited.length >= READY_TEXTS_MAX
  return (
    <SendForm action={texts.save} isReady={isReady} onSend={save}>
      <p>{texts.readyWhy}</p>
      {edited.map((one, at) => (
        <fieldset key={one.text_id} class="panel stack">
          <legend>{texts.readyText(at + 1)}</legend>
          {LANGUAGES.map((language) => (
            <TextField
              key={language}
              name={texts.languages[language]}
              max={MESSAGE_MAX}
              value={one[language]}
              onInput={(text) => change(at, { [language]: text })}
            />
          ))}
          <div class="row">
            <TickField name={texts.urgent} isOn={one.is_urgent} onChange={(isOn) => change(at, { is_urgent: isOn })} />
            <button type="button" class="button" onClick={() => edit(edited.filter((other) => other !== one))}>
              {texts.remove(at + 1)}
            </button>
          </div>
        </fieldset>
      ))}
      <button
        type="button"
        class="button"
        disabled={isFull}
        onClick={() => edit([...edited, { text_id: `text-${clock.nowMs()}`, en: '', de: '', is_urgent: false }])}
      >
        {texts.add}
      </button>
      <p role="status" class={isSaved ? '' : 'visually-hidden'}>
        {isSaved && texts.saved}
      </p>
    </SendForm>
  )
}
