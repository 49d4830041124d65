import { useState } from 'preact/hooks'
import { moreTexts } from '#dashboard/texts/more.ts'
import { tabletTexts } from '#dashboard/texts/tablets.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Facts } from '#dashboard/ui/facts.tsx'
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
      <Facts
        of={[
          [texts.signedInAs, `${me.user.name} (${texts.roles[me.user.role]})`],
          [texts.tablet, me.session?.name ?? null],
          [texts.acts, person === null ? texts.none : `${person.name} (${texts.roles[me.role]})`],
        ]}
      />
      <div class="row">
        {person === null ? (
          <Button
            text={texts.actAs}
            onClick={() => void send(() => dashboard.gate.ask({ reason: 'rights', role: 'user' }))}
          />
        ) : (
          <Button text={texts.stopActing} disabled={isSending} onClick={() => void send(stop)} />
        )}
        <Button text={texts.ownPin} onClick={() => askPin(true)} />
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
