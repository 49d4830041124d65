import { useState } from 'preact/hooks'
import { peopleTexts } from '#dashboard/texts/people.ts'
import { tabletTexts } from '#dashboard/texts/tablets.ts'
import { AskButton } from '#dashboard/ui/ask-button.tsx'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Dialog } from '#dashboard/ui/dialog.tsx'
import { SendForm } from '#dashboard/ui/fields/send-form.tsx'
import { useUnsaved } from '#dashboard/ui/unsaved.ts'
import type { InputOf } from '#shared/wire/operation-types.ts'
import type { UserJson } from '#shared/wire/users.ts'
import { KeyShown } from './key-shown.tsx'
import { PinDialog } from './pin-dialog.tsx'
import { draftOf, NEW_USER, UserFields, useUserBody } from './user-fields.tsx'

/** Edits a user: properties, PIN, key, activation, deletion. */
export function PersonPanel({ user, onDone }: { user: UserJson; onDone: () => Promise<void> }) {
  const { api } = useDashboard()
  const texts = peopleTexts()
  const { setPin, pinFor } = tabletTexts()
  const [draft, setDraft] = useState(() => draftOf(user))
  const [key, setKey] = useState<string | null>(null)
  const [isPinAsked, askPin] = useState(false)
  const bodyOf = useUserBody()
  const path = { id: user.user_id }
  const patch = async (body: InputOf<'PATCH /users/{id}'>['body']) => {
    await api.call('PATCH /users/{id}', { path, body })
    await onDone()
  }
  const newKey = async () => setKey((await api.call('POST /users/{id}/rotate-key', { path })).api_key)
  const remove = async () => {
    await api.call('DELETE /users/{id}', { path })
    await onDone()
  }
  return (
    <section class="panel">
      <h2 dir="auto">{texts.changeOf(user.name)}</h2>
      <SendForm action={texts.save} isReady={draft.name.trim() !== ''} onSend={() => patch(bodyOf(draft))}>
        <UserFields draft={draft} onDraft={setDraft} />
      </SendForm>
      <div class="row">
        {user.role !== 'metrics' && <Button text={setPin} onClick={() => askPin(true)} />}
        <AskButton
          action={texts.newKey}
          title={texts.askNewKey(user.name)}
          means={texts.newKeyMeans}
          onAnswer={newKey}
        />
        {user.is_active ? (
          <AskButton
            action={texts.disable}
            title={texts.askDisable(user.name)}
            means={texts.disableMeans}
            onAnswer={() => patch({ is_active: false })}
          />
        ) : (
          <SendForm action={texts.enable} onSend={() => patch({ is_active: true })} />
        )}
        <AskButton
          action={texts.remove}
          title={texts.askRemove(user.name)}
          means={texts.removeMeans}
          onAnswer={remove}
        />
      </div>
      {key !== null && <IssuedKey name={user.name} apiKey={key} onDone={() => setKey(null)} />}
      {isPinAsked && (
        <PinDialog
          userId={user.user_id}
          hasPin={user.has_pin}
          title={pinFor(user.name)}
          onClose={(isSet) => {
            askPin(false)
            if (isSet) void onDone()
          }}
        />
      )}
    </section>
  )
}

export function NewPerson({ onChange }: { onChange: () => Promise<void> }) {
  const { api } = useDashboard()
  const texts = tabletTexts()
  const [draft, setDraft] = useState(NEW_USER)
  const [made, setMade] = useState<{ name: string; apiKey: string } | null>(null)
  const bodyOf = useUserBody()
  const add = async () => {
    const { user, api_key } = await api.call('POST /users', { body: bodyOf(draft) })
    setMade({ name: user.name, apiKey: api_key })
  }
  const saved = () => {
    setMade(null)
    setDraft(NEW_USER)
    void onChange()
  }
  return (
    <section class="panel">
      <h2>{texts.newPerson}</h2>
      <SendForm action={texts.add} isReady={draft.name.trim() !== ''} onSend={add}>
        <UserFields draft={draft} onDraft={setDraft} />
      </SendForm>
      {made !== null && <IssuedKey {...made} onDone={saved} />}
    </section>
  )
}

interface IssuedKeyProps {
  name: string
  apiKey: string
  onDone: () => void
}

/** Key that is shown only once: neither Escape nor a tap outside closes the dialog. */
function IssuedKey({ name, apiKey, onDone }: IssuedKeyProps) {
  const texts = peopleTexts()
  useUnsaved(texts.leaveKey(name))
  return (
    <Dialog title={texts.keyOf(name)} onCancel={() => undefined}>
      <p>{texts.keyOnce}</p>
      <KeyShown apiKey={apiKey} of={name} />
      <Button text={texts.written} is="main" onClick={onDone} />
    </Dialog>
  )
}
