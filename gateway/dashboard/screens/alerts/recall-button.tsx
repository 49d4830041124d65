import { useState } from 'preact/hooks'
import { RECALL_TEXTS, recallTexts } from '#dashboard/texts/recall.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Icon } from '#dashboard/ui/icons.tsx'
import { Question } from '#dashboard/ui/question.tsx'
import { TextField } from '#dashboard/ui/text-field.tsx'
import { ApiError } from '#shared/client.ts'

const TEXT_MAX = 200

/** Calls all carts in, with two taps from any screen; during a recall it opens the list of carts still out. */
export function RecallButton() {
  const { me, recall, router } = useDashboard()
  const [isAsking, setIsAsking] = useState(false)
  if ((me.value?.role ?? 'user') === 'user') return null
  const open = () => {
    if (recall.now.value === null) setIsAsking(true)
    else router.go('alerts', 'recall')
  }
  return (
    <>
      <button type="button" class="recall-button" onClick={open}>
        <Icon name="bolt" />
        {recallTexts().allIn}
      </button>
      {isAsking && <AskRecall onDone={() => setIsAsking(false)} />}
    </>
  )
}

function AskRecall({ onDone }: { onDone: () => void }) {
  const { recall, router, settings, site } = useDashboard()
  const texts = recallTexts()
  const [text, setText] = useState<string>(RECALL_TEXTS[settings.value?.language ?? site.value.language])
  const send = async () => {
    try {
      await recall.begin(text.trim())
    } catch (error) {
      // another user was faster
      if (!(error instanceof ApiError) || error.code !== 'recall_active') throw error
    }
    onDone()
    router.go('alerts', 'recall')
  }
  return (
    <Question title={texts.ask} action={texts.send} isDanger onCancel={onDone} onAnswer={send}>
      <TextField name={texts.text} hint={texts.goesTo} max={TEXT_MAX} isLong value={text} onInput={setText} />
    </Question>
  )
}
