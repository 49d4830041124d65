import { useState } from 'preact/hooks'

interface FileChoiceProps {
  label: string
  accept: string
  onFile: (file: File) => void | Promise<void>
}

/** Field for a file that is chosen or dropped. */
export function FileChoice({ label, accept, onFile }: FileChoiceProps) {
  const [isOver, setOver] = useState(false)
  const take = (files: FileList | null | undefined) => {
    const file = files?.[0]
    if (file !== undefined) void onFile(file)
  }
  return (
    <label
      class={isOver ? 'button file-choice over' : 'button file-choice'}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault()
        setOver(false)
        take(event.dataTransfer?.files)
      }}
    >
      {label}
      <input
        type="file"
        class="visually-hidden"
        accept={accept}
        onChange={({ currentTarget }) => {
          take(currentTarget.files)
          // allows the same file to be chosen again after a correction
          currentTarget.value = ''
        }}
      />
    </label>
  )
}
