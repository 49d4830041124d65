import { useState } from 'preact/hooks'
import { moreTexts } from '#dashboard/texts/more.ts'
import { tabletTexts } from '#dashboard/texts/tablets.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { useSending } from '#dashboard/ui/sending.ts'
import { PinDialog } from './pin-dialog.tsx'

/** User of the tablet's session, and the PIN user signed in now. */
export function PinUserPanel() {
  const dashboard = useDashboard()
  const texts = moreTexts()
  const { send, fault, isSending } = useSending()
  const [isPinAsked, askPin] = useState(false)
  const [isPinSet, setPinSet] = useState(false)
  const me = dashboard.me.value
  if (me === null) return null
  const person = me.session?.person ?? null
  const own = person ?? { user_id: me.user.user_id, name: me.user.name }
  const stop = async () => dashboard.acts(await dashboard.api.call('DELETE /sessions/current/person'))
  return (
    <section class="panel">
      <dl class="facts">
        <dt>{texts.signedInAs}</dt>
        <dd dir="auto">{`${me.user.name} (${texts.roles[me.user.role]})`}</dd>
        <dt>{texts.tablet}</dt>
        <dd dir="auto">{me.session?.name}</dd>
        <dt>{texts.acts}</dt>
        <dd dir="auto">{person === null ? texts.none : `${person.name} (${texts.roles[me.role]})`}</dd>
      </dl>
      <div class="row">
        {person === null ? (
          <button
            type="button"
            class="button"
            onClick={() => void send(() => dashboard.gate.ask({ reason: 'rights', role: 'user' }))}
          >
            {texts.actAs}
          </button>
        ) : (
          <button type="button" class="button" disabled={isSending} onClick={() => void send(stop)}>
            {texts.stopActing}
          </button>
        )}
        <button type="button" class="button" onClick={() => askPin(true)}>
          {texts.ownPin}
        </button>
      </div>
      <p role="status">{isPinSet && texts.pinSet}</p>
      <Fault text={fault} />
      {isPinAsked && (
        <PinDialog
          userId={own.user_id}
          hasPin={person !== null || me.user.has_pin}
          title={tabletTexts().pinFor(own.name)}
          onClose={(isSet) => {
            askPin(false)
            setPinSet(isSet)
          }}
        />
      )}
    </section>
  )
}
